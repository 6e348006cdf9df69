#include <algorithm>

#include "schedule/orders.h"

namespace troika::schedule {

Order order_1f1b(const StepShape& shape, int pp_rank, int count) {
  const int warm_up = std::min(shape.pp - 1 - pp_rank, count);
  Order order;
  for (int i = 0; i < count + warm_up; ++i) {
    if (i < count) order.push_back(pass(Kind::fwd, i, pp_rank));
    if (i >= warm_up) order.push_back(pass(Kind::bwd, i - warm_up, pp_rank));
  }
  return order;
}

}  // namespace troika::schedule
