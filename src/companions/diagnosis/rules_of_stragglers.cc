// One rank that computes for longer than its like, while the others wait for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/say.h"
#include "diagnosis/rules.h"
#include "diagnosis/samples.h"
#include "records/health.h"

namespace troika::diagnosis {
namespace {

constexpr double others_wait = 0.15;

double waits_of_most(const Facts& f) {
  double most = 0;
  for (const auto& [rank, facts] : f.of_ranks) most = std::max(most, share(facts.waiting, facts));
  return most;
}

int pp_of(const Facts& f, int rank) {
  if (f.state)
    for (const records::RankPlace& place : f.state->ranks)
      if (place.rank == rank) return place.pp;
  return 0;
}

// Computing in a step beside the median of the others that have the same stage, or of all others.
double slowness_of(const Facts& f, int rank) {
  std::map<int, records::Pace> paces;
  for (const auto& [other, facts] : f.of_ranks)
    if (facts.steps > 0) paces[other] = {facts.computing / static_cast<double>(facts.steps), 1, pp_of(f, other)};
  const auto all = records::slowness_of(paces);
  const auto found = all.find(rank);
  return found == all.end() ? 0 : found->second.ratio;
}

std::string shares_without(const Facts& f, int slow_rank, double ratio) {
  const config::Settings s = settings_or_usual(f);
  const std::int64_t dp = s.parallel.dp, microbatches = s.batch.microbatches.value_or(0);
  if (dp < 2 || s.parallel.pp > 1 || microbatches < 2 || s.parallel.zero > 1) return "";
  const auto fewer = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(microbatches) / ratio));
  std::vector<std::string> shares;
  std::int64_t left = (microbatches - fewer), others = dp - 1;
  for (std::int64_t rank = 0; rank < dp; ++rank) {
    if (rank == slow_rank) {
      shares.push_back(std::to_string(fewer));
      continue;
    }
    const std::int64_t more = left / others;
    shares.push_back(std::to_string(microbatches + more));
    left -= more;
    --others;
  }
  return fmt::format("{}", fmt::join(shares, ","));
}

std::optional<Finding> slow_host(const Facts& f) {
  const records::Event* notice = nullptr;
  for (const records::Event& event : f.standing)
    if (event.incident->kind == records::IncidentKind::host_slow) notice = &event;
  if (notice == nullptr || !is_long_enough(f) || waits_of_most(f) < others_wait) return std::nullopt;
  // Stages of one host that differ in their work may share its cores with anybody.
  if (!f.on_several_hosts() && !notice->incident->alike) return std::nullopt;
  const int rank = notice->incident->who.rank;
  const auto found_rank = f.of_ranks.find(rank);
  const double ratio = found_rank == f.of_ranks.end() ? 0 : slowness_of(f, rank);
  if (ratio < records::slow_ratio) return std::nullopt;
  Finding found{
      "straggler",
      {quoted({notice->text, *notice->incident}),
       say("rank {0} on {1} computes {2:.1f} times as long as the others, which wait up to {3:.0f} % of their time",
           rank, found_rank->second.host, ratio, 100 * waits_of_most(f))},
      {}};
  if (const std::string shares = shares_without(f, rank, ratio); !shares.empty())
    found.advice.push_back(set("parallel.shares", shares, say("rank {} gets fewer microbatches of a step", rank)));
  if (settings_or_usual(f).parallel.pp > 1)
    found.advice.push_back(
        set("parallel.stage_balance", "measured", say("stages are cut by seconds that are measured on the hosts")));
  found.advice.push_back({say("leave that host out"), say("the others wait for it in every step")});
  found.advice.push_back(run_doctor());
  found.advice.resize(std::min<std::size_t>(found.advice.size(), 3));
  return found;
}

std::optional<Finding> uneven_stages(const Facts& f) {
  const config::Settings s = settings_or_usual(f);
  if (s.parallel.pp < 2 || s.parallel.stage_layers.empty() || !is_long_enough(f) || waits_of_most(f) < others_wait)
    return std::nullopt;
  const auto [fewest, most] = std::minmax_element(s.parallel.stage_layers.begin(), s.parallel.stage_layers.end());
  if (*most == *fewest) return std::nullopt;
  std::map<int, records::Pace> paces;  // each stage has work of its own
  for (const auto& [rank, facts] : f.of_ranks) paces[rank] = {share(facts.computing, facts), 1, rank};
  int slowest = -1;
  double ratio = 0;
  for (const auto& [rank, slowness] : records::slowness_of(paces))
    if (slowness.ratio > ratio) slowest = rank, ratio = slowness.ratio;
  if (ratio < records::slow_ratio) return std::nullopt;
  return Finding{
      "straggler",
      {say("the stages have {} layers", fmt::format("{}", fmt::join(s.parallel.stage_layers, ","))),
       say("rank {0} on {1} computes {2:.1f} times as long as the others, which wait up to {3:.0f} % of their time",
           slowest, f.of_ranks.at(slowest).host, ratio, 100 * waits_of_most(f))},
      {set("parallel.stage_balance", "measured", say("in place of --stage-layers: stages are cut by measured seconds")),
       command("troika timeline", say("with --profile, it shows who waits for whom in a step"))}};
}

}  // namespace

Rules rules_of_stragglers() { return {slow_host, uneven_stages}; }

}  // namespace troika::diagnosis
