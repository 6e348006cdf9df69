// All forwards, then all backwards. Every microbatch of the share is in flight at once.
// Y. Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", NeurIPS 2019; the
// backwards ascend here (as in the gradient sum), which costs no time.
#include "schedule/build/schedules.h"

namespace troika::schedule {

static Order order_gpipe(const StepShape&, int pp_rank, int count) {
  Order order;
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::fwd, m, pp_rank));
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::bwd, m, pp_rank));
  return order;
}

static int in_flight_gpipe(const StepShape&, int, int count) { return count; }

ScheduleDefinition gpipe() { return {ScheduleDefinition::Stages::one_per_rank, order_gpipe, in_flight_gpipe}; }

}  // namespace troika::schedule
