// Runs that train slower than they could, by shares of their steps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "diagnosis/rules.h"
#include "diagnosis/samples.h"
#include "diagnosis/step_speed.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

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
  std::vector<double> like, others;
  const auto of_step = [](const RankFacts& facts) {
    return facts.steps > 0 ? facts.computing / static_cast<double>(facts.steps) : 0;
  };
  for (const auto& [other, facts] : f.of_ranks) {
    if (other == rank || of_step(facts) <= 0) continue;
    others.push_back(of_step(facts));
    if (pp_of(f, other) == pp_of(f, rank)) like.push_back(of_step(facts));
  }
  if (others.empty()) return 0;
  return of_step(f.of_ranks.at(rank)) / median(like.empty() ? others : like);
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
  constexpr double least_ratio = 1.3, others_wait = 0.15;
  const records::Event* notice = nullptr;
  for (const records::Event& event : f.standing)
    if (holds(event.text, {" times slower than its like"})) notice = &event;
  if (notice == nullptr || !is_long_enough(f) || waits_of_most(f) < others_wait) return std::nullopt;
  const std::size_t at = notice->text.find("(rank ");
  const int rank = at == std::string::npos ? -1 : std::atoi(notice->text.c_str() + at + 6);
  const auto found_rank = f.of_ranks.find(rank);
  const double ratio = found_rank == f.of_ranks.end() ? 0 : slowness_of(f, rank);
  if (ratio < least_ratio) return std::nullopt;
  Finding found{
      "straggler",
      {quoted(notice->text), say(texts.computes_longer, rank, found_rank->second.host, ratio, 100 * waits_of_most(f))},
      {}};
  if (const std::string shares = shares_without(f, rank, ratio); !shares.empty())
    found.advice.push_back(set("parallel.shares", shares, say(texts.less_for_it, rank)));
  if (settings_or_usual(f).parallel.pp > 1)
    found.advice.push_back(set("parallel.stage_balance", "measured", say(texts.balance_measured)));
  found.advice.push_back({say(texts.leave_host_out), say(texts.why_leave_slow_host_out)});
  found.advice.push_back(run_doctor());
  found.advice.resize(std::min<std::size_t>(found.advice.size(), 3));
  return found;
}

std::optional<Finding> uneven_stages(const Facts& f) {
  const config::Settings s = settings_or_usual(f);
  if (s.parallel.pp < 2 || s.parallel.stage_layers.empty() || !is_long_enough(f) || waits_of_most(f) < 0.15)
    return std::nullopt;
  const auto [fewest, most] = std::minmax_element(s.parallel.stage_layers.begin(), s.parallel.stage_layers.end());
  if (*most == *fewest) return std::nullopt;
  int slowest = -1;
  double ratio = 0;
  for (const auto& [rank, facts] : f.of_ranks) {
    std::vector<double> others;
    for (const auto& [other, of_other] : f.of_ranks)
      if (other != rank) others.push_back(share(of_other.computing, of_other));
    const double middle = median(others), here = share(facts.computing, facts);
    if (middle > 0 && here / middle > ratio) {
      ratio = here / middle;
      slowest = rank;
    }
  }
  if (ratio < 1.3) return std::nullopt;
  return Finding{"straggler",
                 {say(texts.stages_differ, fmt::format("{}", fmt::join(s.parallel.stage_layers, ","))),
                  say(texts.computes_longer, slowest, f.of_ranks.at(slowest).host, ratio, 100 * waits_of_most(f))},
                 {set("parallel.stage_balance", "measured", say(texts.balance_without_layers)),
                  command("troika timeline", say(texts.why_timeline))}};
}

std::optional<Finding> data_bound(const Facts& f) {
  constexpr double most = 0.10;
  if (!is_long_enough(f)) return std::nullopt;
  for (const auto& [rank, facts] : f.of_ranks) {
    if (share(facts.loading, facts) <= most) continue;
    const config::Settings s = settings_or_usual(f);
    return Finding{"data_bound",
                   {say(texts.loads_for, rank, facts.host, 100 * share(facts.loading, facts))},
                   {set("data.prefetch", std::to_string(std::max<std::int64_t>(4 * s.data.prefetch, 16)),
                        say(texts.read_ahead, s.data.prefetch)),
                    {say(texts.local_data), say(texts.why_local_data)},
                    command("troika data prepare", say(texts.why_prepare))}};
  }
  return std::nullopt;
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
                   {say(texts.saves_for, rank, facts.host, 100 * share(facts.saving, facts), f.saves,
                        f.save_seconds / static_cast<double>(f.saves))},
                   {other_disk(), set("checkpoint.async", "on", say(texts.save_beside)),
                    set("checkpoint.every_minutes", number(std::max(2 * minutes, 10.0)), say(texts.save_less_often))}};
  }
  return std::nullopt;
}

Advice larger_batch(const Facts& f, std::int64_t times) {
  const std::int64_t global = settings_or_usual(f).batch.global_batch_size.value_or(16);
  return set("batch.global_batch_size", std::to_string(global * times), say(texts.accumulate, times));
}

std::optional<Finding> communication_bound(const Facts& f) {
  constexpr double most = 0.40;
  if (!f.on_several_hosts() || !is_long_enough(f)) return std::nullopt;
  double least = 1;
  for (const auto& [rank, facts] : f.of_ranks) least = std::min(least, share(facts.waiting, facts));
  if (least - planned_bubble(f) < most) return std::nullopt;
  Finding found{"communication_bound", {say(texts.all_wait, 100 * least)}, {larger_batch(f, 4)}};
  if (const double bubble = planned_bubble(f); bubble > 0)
    found.evidence.push_back(say(texts.bubble_by_plan, 100 * bubble));
  const config::Settings s = settings_or_usual(f);
  if (s.parallel.pp == 1 && s.parallel.tp == 1 && s.parallel.cp == 1)
    found.advice.push_back(set("parallel.pp", std::to_string(f.ranks), say(texts.pipeline_sends_less)));
  found.advice.push_back(command("troika plan --what-if", say(texts.why_what_if)));
  found.advice.push_back(launch(LaunchFlag::nnodes, "1", say(texts.fewer_hosts)));
  found.advice.resize(3);
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
                {say(texts.bubble_measured, 100 * waiting),
                 say(texts.bubble_planned, microbatches, s.parallel.pp, 100 * planned_bubble(f))},
                {}};
  if (micro % times == 0)
    found.advice.push_back(set("batch.micro_batch_size", std::to_string(micro / times),
                               say(texts.smaller_microbatches, microbatches * times)));
  found.advice.push_back(larger_batch(f, times));
  if (s.parallel.virtual_stages == 1 && s.model.layers >= 2 * s.parallel.pp)
    found.advice.push_back(set("parallel.virtual_stages", "2", say(texts.interleave)));
  if (found.advice.size() < 3) found.advice.push_back(set("parallel.schedule", "zb-h1", say(texts.zero_bubble)));
  return found;
}

}  // namespace

Rules rules_of_speed() {
  return {slow_host, uneven_stages, data_bound, saving_takes_long, communication_bound, pipeline_bubble};
}

}  // namespace troika::diagnosis
