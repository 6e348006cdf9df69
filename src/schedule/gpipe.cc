#include "schedule/orders.h"

namespace troika::schedule {

Order order_gpipe(const StepShape&, int pp_rank, int count) {
  Order order;
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::fwd, m, pp_rank));
  for (int m = 0; m < count; ++m) order.push_back(pass(Kind::bwd, m, pp_rank));
  return order;
}

}  // namespace troika::schedule
