#include "train/forecaster.h"

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"
#include "machine/calibration.h"
#include "machine/rates.h"
#include "planner/open_layout.h"
#include "planner/layout.h"
#include "planner/reasons.h"

namespace troika::train {
namespace {

constexpr std::int64_t touched_bytes = std::int64_t{10} << 20;           // of libraries, by a process in its first step
constexpr double advisable = 1.05;                                       // layouts that gain less are not advised
constexpr double far_apart = 0.15;                                       // then the parts are told
constexpr double notable_part = 0.05;                                    // of the predicted step
constexpr double long_enough_seconds = 10;                               // of all steps, as `troika why` has it
constexpr int most_ranks_searched = 64, most_ranks_apart_searched = 16;  // a search among them takes a moment
constexpr int most_grid_ranks = 256;                                     // that are simulated each by itself

planner::Column column_of(const plan::Plan& plan, const planner::RunMachines& machines) {
  const machine::Placement placement(machines.cluster, plan.shape.world(), machines.ranks_per_host);
  const bool many = plan.program.ranks.size() > most_grid_ranks && placement.uniform();
  if (many) return make_column(plan, plan.stages, planner::Pipelines::one);
  return {plan, plan.stages, plan.program, planner::Pipelines::whole};
}

const plan::Memory& largest(const std::vector<plan::Memory>& memory) {
  return *std::max_element(memory.begin(), memory.end(),
                           [](const auto& a, const auto& b) { return a.total() < b.total(); });
}

base::Text joined(const std::vector<base::Text>& parts) { return base::join(parts, "; ", "；"); }

base::Text describe_layouts(std::vector<planner::Estimate> layouts, const planner::Layout& own) {
  std::stable_sort(layouts.begin(), layouts.end(),
                   [](const planner::Estimate& a, const planner::Estimate& b) { return a.time.step < b.time.step; });
  std::vector<base::Text> parts;
  double mine = 0;
  for (const planner::Estimate& e : layouts) {
    const bool is_own = e.layout == own;
    if (is_own) mine = e.time.step;
    parts.push_back(base::say(is_own ? base::Phrase("{} {:.0f} positions/s ({} a step, this run)") : base::Phrase("{} {:.0f} positions/s ({} a step)"),
                              text_of(e.layout), e.tokens_per_second(), base::format_duration(e.time.step)));
  }
  const double gain = mine / layouts.front().time.step;
  if (gain > advisable)
    parts.push_back(base::say("{} would be {:.2f} times as fast", flags_to(layouts.front().layout, own), gain));
  return base::say("layouts {}", joined(parts));
}

base::Text shares(double step, double compute, double optimizer, double inside) {
  const auto percent = [&](double seconds) { return step > 0 ? 100 * std::max(seconds, 0.0) / step : 0; };
  const double waiting = percent(step - compute - optimizer - inside);
  if (percent(inside) < 0.5)
    return base::say("computing {:.0f} %, optimizer {:.0f} %, waiting {:.0f} %", percent(compute), percent(optimizer), waiting);
  return base::say("computing {:.0f} %, optimizer {:.0f} %, messages inside passes {:.0f} %, waiting {:.0f} %", percent(compute),
                   percent(optimizer), percent(inside), waiting);
}

RankTaken mean_of(const std::vector<RankTaken>& ranks) {
  RankTaken mean;
  const auto count = static_cast<double>(ranks.size());
  for (const RankTaken& rank : ranks) {
    mean.compute += rank.compute / count;
    mean.optimizer += rank.optimizer / count;
    mean.inside += rank.inside / count;
    mean.resident_bytes = std::max(mean.resident_bytes, rank.resident_bytes);
    mean.program_bytes = std::max(mean.program_bytes, rank.program_bytes);
    mean.snapshot_bytes = std::max(mean.snapshot_bytes, rank.snapshot_bytes);
  }
  return mean;
}

base::Text compared(double measured, double predicted, base::Phrase more, base::Phrase less) {
  const double off = 100 * (measured / predicted - 1);
  return base::say(off < 0 ? less : more, std::abs(off));
}

}  // namespace

Forecast::Forecast(const plan::Plan& plan, planner::RunMachines machines, const schedule::Link& link)
    : plan_(plan), machines_(std::move(machines)), link_(link), column_(column_of(plan, machines_)) {
  const machine::Placement placement(machines_.cluster, plan.shape.world(), machines_.ranks_per_host);
  times_ = time_of_ranks(column_, placement);
  own_ = planner::estimate(column_, placement, {largest(plan.memory), placement.memory_of(0)});
}

planner::Question Forecast::question(const machine::Cluster& cluster) const {
  planner::Question q;
  q.settings = plan_.settings();
  q.fixed.precision = own_.layout.precision;  // what else changes results, or needs a disk, stays too
  q.fixed.offload = own_.layout.offload;
  q.fixed.tp = own_.layout.tp;
  q.fixed.cp = own_.layout.cp;
  q.global = own_.layout.global;
  q.cluster = cluster;
  q.world = plan_.shape.world();
  q.ranks_per_host = machines_.ranks_per_host;
  return q;
}

std::vector<planner::Estimate> Forecast::layouts(const machine::Cluster& cluster, const planner::Estimate& own) const {
  std::vector<planner::Estimate> all{own};
  const planner::Question q = question(cluster);
  const bool equal = machine::Placement(cluster, q.world, q.ranks_per_host).uniform();
  if (q.world > (equal ? most_ranks_searched : most_ranks_apart_searched)) return all;
  for (const planner::Estimate& other : fastest_of_each_depth(q)) {
    if (!(other.layout == own.layout)) all.push_back(other);
  }
  return all;
}

base::Text Forecast::describe_link(const std::vector<planner::Estimate>& layouts) const {
  std::vector<base::Text> parts;
  for (const planner::Estimate& e : layouts)
    parts.push_back(base::say("{} {} ({})", text_of(e.layout), base::format_bytes(e.sent_bytes),
                              base::format_duration(planner::real(e.sent_bytes) / link_.bytes_per_second)));
  return base::say("link    {} between neighbors; the most a rank sends in a step: {}",
                   machine::format_link(link_.latency_seconds, link_.bytes_per_second), base::join(parts, ", ", "，"));
}

std::vector<base::Text> Forecast::before() const {
  std::vector<base::Text> lines;
  if (plan_.shape.world() == 1) return lines;
  if (const auto fewer = fastest_on_fewer_hosts(question(machines_.cluster), own_.tokens_per_second() * advisable))
    lines.push_back(
        base::say("hosts   this run is slower on {} hosts than on {}: with {} it would be {:.2f}x as fast",
                    machines_.cluster.host_count(), fewer->hosts, text_of(fewer->estimate.layout),
                    fewer->estimate.tokens_per_second() / own_.tokens_per_second()));
  const std::vector<planner::Estimate> all = layouts(machines_.cluster, own_);
  lines.push_back(describe_link(all));
  lines.push_back(base::say("{}\n        (simulated; {})", describe_layouts(all, own_.layout), planner::sources_of(machines_.cluster)));
  return lines;
}

const planner::TimeSplit& Forecast::predicted_of(int world_rank) const {
  const auto at = column_.pipelines == planner::Pipelines::whole ? mesh::grid_rank_of(plan_.shape, world_rank)
                                                        : mesh::coordinate_of(plan_.shape, world_rank).pp;
  return times_.at(static_cast<std::size_t>(at));
}

std::vector<Drift> Forecast::drifts(const StepsTaken& taken) const {
  std::vector<Drift> drifts;
  const auto ratio = [](double measured, double predicted) { return predicted > 0 ? measured / predicted : 0; };
  for (std::size_t rank = 0; rank < taken.ranks.size(); ++rank) {
    const planner::TimeSplit& predicted = predicted_of(static_cast<int>(rank));
    drifts.push_back(
        {ratio(taken.ranks[rank].compute, predicted.compute), ratio(taken.ranks[rank].optimizer, predicted.optimizer)});
  }
  return drifts;
}

// Every part that is apart by more than a twentieth of the step, and what to look at.
std::vector<base::Text> Forecast::causes(const StepsTaken& taken) const {
  std::vector<base::Text> lines;
  const RankTaken mean = mean_of(taken.ranks);
  const auto part = [&](double measured, double predicted, base::Phrase what, const base::Text& advice) {
    if (std::abs(measured - predicted) < notable_part * own_.time.step) return;
    lines.push_back(base::say(what, base::format_duration(measured), base::format_duration(predicted), advice));
  };
  const std::vector<Drift> all = drifts(taken);
  const auto slowest =
      std::max_element(all.begin(), all.end(), [](const Drift& a, const Drift& b) { return a.compute < b.compute; });
  base::Text advice = mean.compute > own_.time.compute
                          ? base::say("other work on the machine, a lower clock, or an outdated machine file")
                          : base::say("the machine is faster than its rates; `troika probe` remeasures them");
  if (all.size() > 1 && slowest->compute > 1.1 * mean.compute / own_.time.compute)
    advice = base::say("{}; most on rank {}, {:.2f} times its prediction", advice, slowest - all.begin(), slowest->compute);
  part(mean.compute, own_.time.compute, base::Phrase("why       computing took {} a step instead of {}: {}"), advice);
  part(mean.optimizer, own_.time.optimizer, base::Phrase("why       norm and optimizer took {} a step instead of {}: {}"),
       base::say("memory bandwidth is below or above its rate"));
  part(mean.inside, own_.time.tensor + own_.time.context,
       base::Phrase("why       messages inside passes took {} a step instead of {}"), {});
  const auto waiting = [](double step, double compute, double optimizer, double inside) {
    return std::max(0.0, step - compute - optimizer - inside);
  };
  part(waiting(taken.step_seconds, mean.compute, mean.optimizer, mean.inside),
       waiting(own_.time.step, own_.time.compute, own_.time.optimizer, own_.time.tensor + own_.time.context),
       plan_.shape.world() == 1
           ? base::Phrase("why       waiting took {} a step instead of {}")
           : base::Phrase("why       waiting took {} a step instead of {}: the link's rate changed since it was measured, or a rank was late"),
       {});
  const double seconds = planner::real(taken.steps) * taken.step_seconds;
  if (!lines.empty() && seconds < long_enough_seconds)
    lines.push_back(base::say("          ({} in {}: measurements of less than {:g} s may be noise)", base::counted_text(taken.steps, "step"),
                              base::format_duration(seconds), long_enough_seconds));
  return lines;
}

// Every host as its ranks computed, by their seconds together: a rank with little to do may be far off and matter little.
machine::Cluster Forecast::as_taken(const StepsTaken& taken) const {
  machine::Cluster cluster = machines_.cluster;
  const auto ratio = [](double seconds, double predicted) { return predicted > 0 ? seconds / predicted : 1; };
  std::size_t rank = 0;
  for (machine::Host& host : cluster.hosts) {
    RankTaken took;
    planner::TimeSplit predicted;
    const std::size_t count = static_cast<std::size_t>(host.count) * static_cast<std::size_t>(machines_.ranks_per_host);
    for (std::size_t end = std::min(taken.ranks.size(), rank + count); rank < end; ++rank) {
      took.compute += taken.ranks[rank].compute;
      took.optimizer += taken.ranks[rank].optimizer;
      predicted.compute += predicted_of(static_cast<int>(rank)).compute;
      predicted.optimizer += predicted_of(static_cast<int>(rank)).optimizer;
    }
    machine::Calibration shown;
    learn(shown.compute[own_.layout.precision], ratio(took.compute, predicted.compute));
    learn(shown.optimizer, ratio(took.optimizer, predicted.optimizer));
    host = calibrated(std::move(host), shown);
  }
  return cluster;
}

planner::Estimate Forecast::estimate_on(const machine::Cluster& cluster) const {
  const machine::Placement placement(cluster, plan_.shape.world(), machines_.ranks_per_host);
  return planner::estimate(column_, placement, {own_.memory, own_.available_bytes});
}

// This run counts as measured, and what it took over its own simulation counts for the others too: rows that are compared.
base::Text Forecast::layouts_as_taken(const StepsTaken& taken) const {
  const machine::Cluster cluster = as_taken(taken);
  std::vector<planner::Estimate> all = layouts(cluster, estimate_on(cluster));
  const double scale = taken.step_seconds / all.front().time.step;
  for (planner::Estimate& e : all) e.time.step *= scale;
  const bool alone = all.size() == 1;
  const base::Text layouts = describe_layouts(std::move(all), own_.layout);
  if (alone) return base::say("{}\n        (this run as measured)", layouts);
  return base::say(
      "{}\n        (this run as measured; the others simulated from the link and the times of {}, times {:.2f}: measured over simulated of this run)",
      layouts, base::counted_text(taken.steps, "step"), scale);
}

std::vector<base::Text> Forecast::after(const StepsTaken& taken) const {
  std::vector<base::Text> lines;
  const RankTaken mean = mean_of(taken.ranks);
  const planner::TimeSplit& t = own_.time;
  const std::int64_t told = mean.snapshot_bytes > 0 ? own_.memory.with_saving() : own_.memory.total();
  const std::int64_t planned =
      told - own_.memory.program + mean.program_bytes + (mean.program_bytes > 0 ? touched_bytes : 0);
  const base::Text program =
      mean.program_bytes > 0
          ? base::say("with {} instead of {} for the program", base::format_bytes(mean.program_bytes + touched_bytes),
                      base::format_bytes(own_.memory.program))
          : base::say("without the program");
  lines.push_back(base::say("predicted {} a step ({}), {} a rank (planned {}, {})", base::format_duration(t.step),
                            shares(t.step, t.compute, t.optimizer, t.tensor + t.context), base::format_bytes(planned),
                            base::format_bytes(told), program));
  base::Text off = compared(taken.step_seconds, t.step, base::Phrase("{:.1f} % longer"), base::Phrase("{:.1f} % shorter"));
  if (mean.resident_bytes > 0)
    off = base::say("{}, {}", off, compared(planner::real(mean.resident_bytes), planner::real(planned), base::Phrase("memory {:.1f} % more"),
                                            base::Phrase("memory {:.1f} % less")));
  lines.push_back(base::say("measured  {} a step ({}), {} a rank: {}", base::format_duration(taken.step_seconds),
                            shares(taken.step_seconds, mean.compute, mean.optimizer, mean.inside),
                            base::format_bytes(mean.resident_bytes), off));
  if (std::abs(taken.step_seconds / t.step - 1) > far_apart) {
    for (const base::Text& cause : causes(taken)) lines.push_back(cause);
  }
  if (plan_.shape.world() == 1) return lines;
  lines.push_back(layouts_as_taken(taken));
  return lines;
}

}  // namespace troika::train
