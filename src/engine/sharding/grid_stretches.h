// The grids of the elements in a range of a sharded buffer.
#pragma once

#include <vector>

#include "kernels/grid.h"
#include "shape/shard_plan.h"

namespace troika::sharding {

// `shifts`: by part of the plan.
inline kernels::GridStretches grid_stretches(const shape::ShardPlan& plan, const shape::Range& range,
                                             const std::vector<int>& shifts) {
  kernels::GridStretches stretches;
  plan.visit_parts(range, [&](std::size_t part, std::int64_t, std::int64_t count) { stretches.push_back({count, shifts[part]}); });
  return stretches;
}

}  // namespace troika::sharding
