// Rank r holds the stages r, r + pp, ...: forwards in groups of pp microbatches, group by group through all its stages
// in order, backwards likewise through its stages in reverse order; some forwards first, then one forward and one
// backward in turn. A last group of fewer microbatches takes the order of a full one with the missing ones left out:
// leaving microbatches out of an order without deadlock gives none.
// D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021.
#include <algorithm>

#include "schedule/build/schedules.h"

namespace troika::schedule {

static int warm_up_interleaved(const StepShape& shape, int pp_rank) {
  return 2 * (shape.pp - pp_rank - 1) + (shape.virtual_stages - 1) * shape.pp;
}

// The n-th pass of a direction, when every group is full.
static Instruction nth_pass(const StepShape& shape, int pp_rank, Kind kind, int n) {
  const int group_passes = shape.pp * shape.virtual_stages;
  const int chunk = n % group_passes / shape.pp;
  const int microbatch = n / group_passes * shape.pp + n % shape.pp;
  const int own = kind == Kind::fwd ? chunk : shape.virtual_stages - 1 - chunk;
  return pass(kind, microbatch, own * shape.pp + pp_rank);
}

static Order order_interleaved(const StepShape& shape, int pp_rank, int count) {
  const int groups = (count + shape.pp - 1) / shape.pp;
  const int passes = groups * shape.pp * shape.virtual_stages;
  const int warm_up = std::min(warm_up_interleaved(shape, pp_rank), passes);
  Order order;
  const auto add = [&](const Instruction& i) {
    if (i.microbatch < count) order.push_back(i);
  };
  for (int n = 0; n < passes + warm_up; ++n) {
    if (n < passes) add(nth_pass(shape, pp_rank, Kind::fwd, n));
    if (n >= warm_up) add(nth_pass(shape, pp_rank, Kind::bwd, n - warm_up));
  }
  return order;
}

static int in_flight_interleaved(const StepShape& shape, int pp_rank, int count) {
  return std::min(warm_up_interleaved(shape, pp_rank) + 1, shape.virtual_stages * count);
}

ScheduleDefinition interleaved() {
  return {ScheduleDefinition::Stages::several_per_rank, order_interleaved, in_flight_interleaved};
}

}  // namespace troika::schedule
