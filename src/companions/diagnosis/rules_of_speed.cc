// Runs that train slower than they could, by shares of their steps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/say.h"
#include "diagnosis/facts.h"
#include "diagnosis/rules.h"
#include "records/health.h"

namespace troika::diagnosis {
namespace {

// All that read data wait for it; or one does for so long that the others wait for that one.
std::optional<Finding> data_bound(const Facts& f) {
  constexpr double most = 0.10, most_of_one = 0.25;
  constexpr double least_of_microbatch = 0.002;  // seconds; what is less is the call and no disk
  if (!is_long_enough(f)) return std::nullopt;
  std::vector<double> shares;
  int slowest = -1;
  for (const auto& [rank, facts] : f.of_ranks) {
    if (facts.loading <= 0) continue;  // a stage in the middle reads nothing
    shares.push_back(share(facts.loading, facts));
    if (slowest < 0 || shares.back() > share(f.of_ranks.at(slowest).loading, f.of_ranks.at(slowest))) slowest = rank;
  }
  if (slowest < 0) return std::nullopt;
  const RankFacts& facts = f.of_ranks.at(slowest);
  const double microbatches = static_cast<double>(facts.steps * settings_or_usual(f).batch.microbatches.value_or(1));
  if (facts.loading < least_of_microbatch * microbatches) return std::nullopt;
  if (*std::min_element(shares.begin(), shares.end()) <= most && share(facts.loading, facts) <= most_of_one)
    return std::nullopt;
  const config::Settings s = settings_or_usual(f);
  return Finding{"data_bound",
                 {say("rank {} on {} waits for data {:.0f} % of its time", slowest, facts.host, 100 * share(facts.loading, facts))},
                 {set("data.prefetch", std::to_string(std::max<std::int64_t>(4 * s.data.prefetch, 16)),
                      say("{} read ahead now", base::counted_text(s.data.prefetch, "microbatch is", "microbatches are"))),
                  {say("copy the data to a local disk"), say("a shared folder or a slow card cannot keep up")},
                  command("troika data prepare", say("data prepared once are ready when a run starts"))}};
}

// Idle by the schedule, as a share of a step in which all stages take the same time.
double planned_bubble(const Facts& f) {
  const config::Settings s = settings_or_usual(f);
  const auto pp = static_cast<double>(s.parallel.pp),
             microbatches = static_cast<double>(s.batch.microbatches.value_or(0));
  if (pp < 2 || microbatches < 1) return 0;
  const bool halves = s.parallel.schedule == config::Schedule::zb_h1;  // a third of it is filled with weight gradients
  const double idle = (pp - 1) / static_cast<double>(s.parallel.virtual_stages) / (halves ? 3 : 1);
  return idle / (microbatches + idle);
}

std::optional<Finding> saving_takes_long(const Facts& f) {
  constexpr double most = 0.20, least_seconds = 30;
  for (const auto& [rank, facts] : f.of_ranks) {
    if (f.saves < 3 || facts.seconds < least_seconds || share(facts.saving, facts) <= most) continue;
    const double minutes = settings_or_usual(f).checkpoint.every_minutes;
    return Finding{"slow_disk",
                   {say("rank {0} on {1} is blocked by saving for {2:.0f} % of its time; {3} checkpoints took {4:.1f} s each", rank, facts.host, 100 * share(facts.saving, facts), f.saves,
                        f.save_seconds / static_cast<double>(f.saves))},
                   {other_disk(), set("checkpoint.async", "on", say("checkpoints are written while training continues")),
                    set("checkpoint.every_minutes", number(std::max(2 * minutes, 10.0)), say("the disk is written to less often"))}};
  }
  return std::nullopt;
}

Advice larger_batch(const Facts& f, std::int64_t times) {
  const std::int64_t global = settings_or_usual(f).batch.global_batch_size.value_or(16);
  return set("batch.global_batch_size", std::to_string(global * times), say("with {} times the microbatches in a step, parameters are exchanged that much less often", times));
}

std::optional<Finding> communication_bound(const Facts& f) {
  constexpr double most = 0.40;
  if (!f.on_several_hosts() || !is_long_enough(f)) return std::nullopt;
  double least = 1;
  for (const auto& [rank, facts] : f.of_ranks) least = std::min(least, share(facts.waiting, facts));
  if (least - planned_bubble(f) < most) return std::nullopt;
  Finding found{"communication_bound", {say("every rank waits for messages at least {:.0f} % of its time", 100 * least)}, {larger_batch(f, 4)}};
  if (const double bubble = planned_bubble(f); bubble > 0)
    found.evidence.push_back(say("{:.0f} % of that would be the pipeline's bubble", 100 * bubble));
  const config::Settings s = settings_or_usual(f);
  if (s.parallel.pp == 1 && s.parallel.tp == 1 && s.parallel.cp == 1)
    found.advice.push_back(
        command(setting_flag("parallel.dp", "1") + " " + setting_flag("parallel.pp", std::to_string(f.ranks)),
                say("a pipeline sends activations, not all gradients")));
  found.advice.push_back(launch(LaunchFlag::nnodes, "1", say("fewer hosts may be faster over this link")));
  return found;
}

std::optional<Finding> pipeline_bubble(const Facts& f) {
  constexpr double most = 0.20;
  if (!is_long_enough(f) || planned_bubble(f) <= most) return std::nullopt;
  double waiting = 0;
  for (const auto& [rank, facts] : f.of_ranks)
    waiting += share(facts.waiting, facts) / static_cast<double>(f.of_ranks.size());
  if (waiting <= most) return std::nullopt;
  const config::Settings s = settings_or_usual(f);
  const std::int64_t microbatches = s.batch.microbatches.value_or(1), wanted = 4 * s.parallel.pp;
  const std::int64_t micro = s.batch.micro_batch_size.value_or(1), times = (wanted + microbatches - 1) / microbatches;
  Finding found{"pipeline_bubble",
                {say("ranks wait {:.0f} % of their time", 100 * waiting),
                 say("with {} on {} stages, the schedule leaves {:.0f} % of a step idle", base::counted_text(microbatches, "microbatch", "microbatches"),
                     s.parallel.pp, 100 * planned_bubble(f))},
                {}};
  if (micro % times == 0)
    found.advice.push_back(set("batch.micro_batch_size", std::to_string(micro / times),
                               say("the same batch in {} microbatches", microbatches * times)));
  found.advice.push_back(larger_batch(f, times));
  if (s.parallel.virtual_stages == 1 && s.model.layers >= 2 * s.parallel.pp)
    found.advice.push_back(set("parallel.virtual_stages", "2", say("each rank has two shorter stages, which halves the bubble")));
  if (found.advice.size() < 3) found.advice.push_back(set("parallel.schedule", "zb-h1", say("weight gradients fill the bubble")));
  return found;
}

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
        set("parallel.stage_balance", "measured", say("stages are split by times measured on the hosts")));
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
      {set("parallel.stage_balance", "measured", say("in place of --stage-layers: stages are split by measured times")),
       command("troika timeline", say("with --profile, it shows which ranks wait for which in a step"))}};
}

}  // namespace

Rules rules_of_speed() { return {data_bound, saving_takes_long, communication_bound, pipeline_bubble}; }

Rules rules_of_stragglers() { return {slow_host, uneven_stages}; }

}  // namespace troika::diagnosis
