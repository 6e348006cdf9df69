// Runs that train slower than they could, by shares of their steps.
#include <algorithm>

#include "base/say.h"
#include "diagnosis/rules.h"
#include "diagnosis/step_speed.h"

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
                 {say("rank {} on {} waits for data in {:.0f} % of its time", slowest, facts.host, 100 * share(facts.loading, facts))},
                 {set("data.prefetch", std::to_string(std::max<std::int64_t>(4 * s.data.prefetch, 16)),
                      say("{} read ahead now", base::counted_text(s.data.prefetch, "microbatch is", "microbatches are"))),
                  {say("copy the data to a local disk"), say("a shared folder or a slow card cannot keep up")},
                  command("troika data prepare", say("prepared once, the data are there when a run starts"))}};
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
                   {say("rank {0} on {1} stands for saving in {2:.0f} % of its time; {3} checkpoints took {4:.1f} s each", rank, facts.host, 100 * share(facts.saving, facts), f.saves,
                        f.save_seconds / static_cast<double>(f.saves))},
                   {other_disk(), set("checkpoint.async", "on", say("checkpoints are written beside training")),
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
  Finding found{"communication_bound", {say("every rank waits for messages in at least {:.0f} % of its time", 100 * least)}, {larger_batch(f, 4)}};
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
                {say("ranks wait in {:.0f} % of their time", 100 * waiting),
                 say("with {} on {} stages {:.0f} % of a step is idle by the schedule", base::counted_text(microbatches, "microbatch", "microbatches"),
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

}  // namespace

Rules rules_of_speed() { return {data_bound, saving_takes_long, communication_bound, pipeline_bubble}; }

}  // namespace troika::diagnosis
