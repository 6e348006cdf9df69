#include "plan/rank_work.h"

#include "schedule/instruction/placement.h"
#include "shape/segment_costs.h"

namespace troika::plan {

double computing_of_step(const Plan& plan, int grid_rank) {
  const auto costs = shape::segment_costs(plan.model(), plan.resolved.batch.seq_len, plan.trained);
  double sum = 0;
  for (const schedule::Instruction& i : plan.program.ranks.at(static_cast<std::size_t>(grid_rank))) {
    if (i.kind != schedule::Kind::fwd) continue;
    const schedule::SegmentRange range = schedule::segments_of(plan.program, i);
    for (int g = range.begin; g < range.end; ++g) sum += costs[static_cast<std::size_t>(g)];
  }
  return sum;
}

}  // namespace troika::plan
