#include "planner/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plan/programs.h"
#include "planner/step_costs.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/summary.h"
#include "shape/operation_costs.h"

namespace troika::planner {
namespace {

using schedule::Event;
using schedule::Kind;

double seconds_of(const Event& event) { return event.end_seconds - event.begin_seconds; }

// The entry of `split` that a wait counts towards.
double* waited_for(const Event& event, const mesh::Shape& shape, TimeSplit* split) {
  switch (schedule::traits(event.instruction.kind).part) {
    case schedule::Part::pipeline:
      return event.instruction.kind == Kind::bwd_weight || shape.pp == 1 ? &split->data : &split->pipeline;
    case schedule::Part::summary:
      return shape.dp * shape.cp > 1 ? &split->data : &split->world;  // for reductions first
    default:
      return event.instruction.kind == Kind::reduce_tied ? &split->pipeline : &split->data;
  }
}

class Splitter {
 public:
  Splitter(const Column& column, const StepCosts& costs) : column_(column), costs_(costs) {}

  std::vector<TimeSplit> split(const schedule::StepTrace& trace) {
    const auto communication = schedule::communication_intervals(trace);
    double end = 0;
    for (const auto& rank : trace.ranks) {
      for (const Event& event : rank.events) end = std::max(end, event.end_seconds);
    }
    std::vector<TimeSplit> ranks;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
      rank_ = {};
      add_rank(trace.ranks[r], communication[r]);
      rank_.step = end;
      rank_.bubble = std::max(0.0, end - rank_.compute - rank_.optimizer - rank_.communication());
      ranks.push_back(rank_);
    }
    return ranks;
  }

 private:
  void add_compute(int grid_rank, const Event& event) {
    const Kind kind = event.instruction.kind;
    const double seconds = seconds_of(event);
    if (kind == Kind::norm || kind == Kind::step) {
      rank_.optimizer += seconds;
    } else if (schedule::is_computation(kind)) {
      const PassSeconds pass = costs_.pass_of(grid_rank, event.instruction);
      const double scale = pass.all() > 0 ? seconds / pass.all() : 0;  // ranks may share processors, halves are apart
      rank_.compute += scale * pass.compute;
      rank_.tensor += scale * pass.tensor;
      rank_.context += scale * pass.context;
    } else {
      rank_.compute += seconds;
    }
  }

  void add_rank(const schedule::RankTimeline& rank, const std::vector<schedule::Interval>& communication) {
    auto interval = communication.begin();
    for (const Event& event : rank.events) {
      if (event.activity == Event::Activity::compute) add_compute(rank.grid_rank, event);
      if (event.activity != Event::Activity::wait) continue;
      while (interval != communication.end() && interval->end <= event.begin_seconds) ++interval;
      for (auto at = interval; at != communication.end() && at->begin < event.end_seconds; ++at) {
        const double begin = std::max(at->begin, event.begin_seconds), end = std::min(at->end, event.end_seconds);
        *waited_for(event, column_.job.shape, &rank_) += std::max(0.0, end - begin);
      }
    }
  }

  const Column& column_;
  const StepCosts& costs_;
  TimeSplit rank_;
};

plan::Memory on_device(plan::Memory memory, const Column& column, const machine::Host& host) {
  if (!host.computes_on_cores()) memory = plan::on_gpu(memory, column.job.settings().parallel.offload);
  memory.program = host.program_bytes;
  return memory;
}

}  // namespace

namespace {

// The one that lacks most.
class Worst {
 public:
  Worst(const Column& column, const machine::Placement& placement) : column_(column), placement_(placement) {}

  void add(int grid_rank, const plan::Memory& memory) {
    const int rank = column_.world_rank_of(grid_rank);
    const Need need{on_device(memory, column_, placement_.kind_of_rank(rank)), placement_.memory_of(rank)};
    const auto lack = [](const Need& n) { return n.memory.total() - n.available_bytes; };
    if (first_ || lack(need) > lack(worst_)) worst_ = need;
    first_ = false;
  }
  void follow(int grid_rank) {
    add(grid_rank,
        plan::memory_at(column_.job, column_.stages, {column_.program, {}}, column_.coordinate_of(grid_rank)));
  }
  const Need& need() const { return worst_; }

 private:
  const Column& column_;
  const machine::Placement& placement_;
  Need worst_;
  bool first_ = true;
};

}  // namespace

Need need_of(const Column& column, const machine::Placement& placement) {
  Worst worst(column, placement);
  if (column.pipelines == Pipelines::one) {
    for (int rank = 0; rank < static_cast<int>(column.program.ranks.size()); ++rank) worst.follow(rank);
    return worst.need();
  }
  const auto all = plan::memory_of_grid_ranks(column.job, column.stages, {column.program, {}});
  for (std::size_t rank = 0; rank < all.size(); ++rank) worst.add(static_cast<int>(rank), all[rank]);
  return worst.need();
}

Need need_of_ends(const Column& column, const machine::Placement& placement) {
  Worst worst(column, placement);
  worst.follow(0);
  if (column.job.shape.pp > 1 && worst.need().fits()) worst.follow(static_cast<int>(column.program.ranks.size()) - 1);
  return worst.need();
}

static std::int64_t most_sent(const schedule::Program& program, const StepCosts& costs) {
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    std::int64_t bytes = 0;
    double inside = 0;
    for (const schedule::Instruction& i : program.ranks[rank]) {
      if (schedule::sends(i.kind)) bytes += i.bytes;
      if (schedule::is_computation(i.kind)) inside += costs.pass_of(static_cast<int>(rank), i).sent_bytes;
    }
    most = std::max(most, bytes + static_cast<std::int64_t>(inside));
  }
  return most;
}

std::int64_t positions_of_step(const plan::Job& job) {
  return std::llround(job.sizes.positions * job.sizes.microbatches);
}

double model_flops_of_step(const plan::Job& job) {
  const plan::PositionCosts costs = plan::position_costs(job.model());
  const double of_microbatch = 6 * costs.position * job.sizes.positions + 12 * costs.attention(job.sizes.positions, job.sizes.squares);
  return of_microbatch * job.sizes.microbatches;
}

std::vector<TimeSplit> time_of_ranks(const Column& column, const machine::Placement& placement) {
  const StepCosts costs(column, placement);
  return Splitter(column, costs).split(schedule::simulate(column.program, costs.model()));
}

TimeSplit mean_of(const std::vector<TimeSplit>& ranks) {
  TimeSplit mean;
  for (double TimeSplit::*part :
       {&TimeSplit::step, &TimeSplit::compute, &TimeSplit::optimizer, &TimeSplit::tensor, &TimeSplit::context,
        &TimeSplit::pipeline, &TimeSplit::data, &TimeSplit::world, &TimeSplit::bubble}) {
    for (const TimeSplit& rank : ranks) mean.*part += rank.*part / static_cast<double>(ranks.size());
  }
  return mean;
}

Estimate estimate(const Column& column, const machine::Placement& placement, const Need& need) {
  Estimate e = *estimate_within(column, placement, std::numeric_limits<double>::infinity());
  static_cast<Need&>(e) = need;
  return e;
}

std::optional<Estimate> estimate_within(const Column& column, const machine::Placement& placement,
                                        double most_seconds) {
  const StepCosts costs(column, placement);
  const auto trace = schedule::simulate_within(column.program, costs.model(), most_seconds);
  if (!trace) return std::nullopt;
  Estimate e;
  e.layout = layout_of(column.job.settings());
  e.microbatches = column.job.resolved.batch.microbatches_per_rank;
  e.tokens = positions_of_step(column.job);
  e.time = mean_of(Splitter(column, costs).split(*trace));
  e.sent_bytes = most_sent(column.program, costs);
  e.model_flops = model_flops_of_step(column.job);
  e.peak_flops = placement.peak_flops(column.job.precision());
  return e;
}

int Column::world_rank_of(int grid_rank) const {
  const int inside = job.shape.tp * job.shape.cp;
  return grid_rank * inside * (pipelines == Pipelines::whole ? 1 : job.shape.dp);
}

Column make_column(plan::Job job, Pipelines pipelines) {
  plan::Stages stages = plan::cut_stages(job);
  return make_column(std::move(job), std::move(stages), pipelines);
}

Column make_column(plan::Job job, plan::Stages stages, Pipelines pipelines) {
  const schedule::StepShape shape =
      pipelines == Pipelines::whole ? plan::step_shape(job, stages) : plan::pipeline_shape(job, stages);
  schedule::Program program = plan::build_step_unchecked(job, shape);
  return {std::move(job), std::move(stages), std::move(program), pipelines};
}

}  // namespace troika::planner
