// pp-1-r forwards first, then one forward and one backward in turn: at most pp-r microbatches in flight on rank r.
// D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021 (PipeDream-Flush).
#include <algorithm>

#include "schedule/build/schedules.h"

namespace troika::schedule {

static Order order_1f1b(const StepShape& shape, int pp_rank, int count) {
  const int warm_up = std::min(shape.pp - 1 - pp_rank, count);
  Order order;
  for (int i = 0; i < count + warm_up; ++i) {
    if (i < count) order.push_back(pass(Kind::fwd, i, pp_rank));
    if (i >= warm_up) order.push_back(pass(Kind::bwd, i - warm_up, pp_rank));
  }
  return order;
}

static int in_flight_1f1b(const StepShape& shape, int pp_rank, int count) {
  return std::min(shape.pp - pp_rank, count);
}

ScheduleDefinition one_f_one_b() { return {ScheduleDefinition::Stages::one_per_rank, order_1f1b, in_flight_1f1b}; }

}  // namespace troika::schedule
