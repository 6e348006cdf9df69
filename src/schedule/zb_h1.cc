#include <algorithm>

#include "schedule/orders.h"

namespace troika::schedule {

Order order_zb_h1(const StepShape& shape, int pp_rank, int count) {
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

}  // namespace troika::schedule
