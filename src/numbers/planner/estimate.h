// The predicted time and memory of a layout.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/cluster.h"
#include "plan/job.h"
#include "plan/memory.h"
#include "plan/stages.h"
#include "planner/layout.h"
#include "schedule/instruction/program.h"

namespace troika::planner {

// The simulated part of a step program. whole: a grid rank for every pp and dp rank. one: the first data-parallel rank alone; its
// exchanges among replicas have the bytes and peers of all. Equal pipelines run identically, so one gives the step.
enum class Pipelines { whole, one };

struct Column {
  plan::Job job;
  plan::Stages stages;
  schedule::Program program;  // of Pipelines::one with dp 1 and all replicas
  Pipelines pipelines = Pipelines::one;

  // The first world rank of a grid rank of the program.
  int world_rank_of(int grid_rank) const;
  mesh::Coordinate coordinate_of(int grid_rank) const {
    return mesh::coordinate_of(job.shape, world_rank_of(grid_rank));
  }
};

// ConfigError for what the layout does not allow. The program is not checked: whoever runs it does that.
Column make_column(plan::Job job, Pipelines pipelines);
// With stages that were cut for such a job before.
Column make_column(plan::Job job, plan::Stages stages, Pipelines pipelines);

// Where the time of a step goes, of a rank or of the mean rank, adding up to `step`.
struct TimeSplit {
  double step = 0;
  double compute = 0;              // forwards and backwards, the sums of gradients with them
  double optimizer = 0;            // norm and update
  double tensor = 0, context = 0;  // communication inside passes: of tp and cp groups
  double pipeline = 0, data = 0,
         world = 0;  // exposed: messages between stages; gradients and parameters; losses and norms
  double bubble = 0;

  double communication() const { return tensor + context + pipeline + data + world; }
  double share(double seconds) const { return step > 0 ? seconds / step : 0; }
};

// Memory by following the program, of the rank that needs most of what it has; its share of the host, or its device's.
struct Need {
  plan::Memory memory;
  std::int64_t available_bytes = 0;
  bool fits() const { return memory.total() <= available_bytes; }
};

struct Estimate : Need {
  Layout layout;
  std::int64_t microbatches = 1;     // of one data-parallel rank and step
  std::int64_t tokens = 0;           // of a step, on average; padding is none
  TimeSplit time;
  std::int64_t sent_bytes = 0;  // in a step, the most of one rank: between stages and replicas and inside passes
  double model_flops =
      0;  // of a step: 6 per token and parameter of a product, attention's by the whole mask of each sequence; no recomputation
  double peak_flops = 0;  // per second of all devices, by their data sheets; 0: not known

  double tokens_per_second() const { return static_cast<double>(tokens) / time.step; }
  double model_flops_per_device() const { return model_flops / time.step / layout.world(); }
  double utilisation() const { return peak_flops > 0 ? model_flops / time.step / peak_flops : 0; }
};

Need need_of(const Column& column, const machine::Placement& placement);
// The need of the first and the last stage's ranks alone, which often need most: no more than need_of.
Need need_of_ends(const Column& column, const machine::Placement& placement);

// The times of every grid rank of the column, by simulating the step.
std::vector<TimeSplit> time_of_ranks(const Column& column, const machine::Placement& placement);
TimeSplit mean_of(const std::vector<TimeSplit>& ranks);

Estimate estimate(const Column& column, const machine::Placement& placement, const Need& need);
// Nothing when the step takes longer than `most_seconds`; without memory.
std::optional<Estimate> estimate_within(const Column& column, const machine::Placement& placement, double most_seconds);

// Of a step of average microbatches: its positions, and the model's FLOPs as Estimate::model_flops counts them.
std::int64_t positions_of_step(const plan::Job& job);
double model_flops_of_step(const plan::Job& job);

}  // namespace troika::planner
