// 1F1B with split backwards: on rank r the weight backward of microbatch i is behind the input backward of i+r, the
// rest at the end, so that every rank holds at most pp microbatches and weight backwards fill what 1F1B idles at the
// end. P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024 (ZB-H1).
#include <algorithm>

#include "schedule/build/schedules.h"

namespace troika::schedule {

static Order order_zb_h1(const StepShape& shape, int pp_rank, int count) {
  const int warm_up = std::min(shape.pp - 1 - pp_rank, count);
  Order order;
  for (int i = 0; i < count + warm_up; ++i) {
    if (i < count) order.push_back(pass(Kind::fwd, i, pp_rank));
    const int back = i - warm_up;
    if (back >= 0) order.push_back(pass(Kind::bwd_input, back, pp_rank));
    if (back >= pp_rank) order.push_back(pass(Kind::bwd_weight, back - pp_rank, pp_rank));
  }
  for (int m = std::max(0, count - pp_rank); m < count; ++m) order.push_back(pass(Kind::bwd_weight, m, pp_rank));
  return order;
}

static int in_flight_zb_h1(const StepShape& shape, int, int count) { return std::min(shape.pp, count); }

ScheduleDefinition zb_h1() { return {ScheduleDefinition::Stages::one_per_rank, order_zb_h1, in_flight_zb_h1}; }

}  // namespace troika::schedule
