#include <algorithm>

#include "schedule/orders.h"

namespace troika::schedule {

int warm_up_interleaved(const StepShape& shape, int pp_rank) {
  return 2 * (shape.pp - pp_rank - 1) + (shape.virtual_stages - 1) * shape.pp;
}

// The n-th pass of a direction, when every group is full.
static Instruction nth(const StepShape& shape, int pp_rank, Kind kind, int n) {
  const int group_passes = shape.pp * shape.virtual_stages;
  const int chunk = n % group_passes / shape.pp;
  const int microbatch = n / group_passes * shape.pp + n % shape.pp;
  const int own = kind == Kind::fwd ? chunk : shape.virtual_stages - 1 - chunk;
  return pass(kind, microbatch, own * shape.pp + pp_rank);
}

Order order_interleaved(const StepShape& shape, int pp_rank, int count) {
  const int groups = (count + shape.pp - 1) / shape.pp;
  const int passes = groups * shape.pp * shape.virtual_stages;
  const int warm_up = std::min(warm_up_interleaved(shape, pp_rank), passes);
  Order order;
  const auto add = [&](const Instruction& i) {
    if (i.microbatch < count) order.push_back(i);
  };
  for (int n = 0; n < passes + warm_up; ++n) {
    if (n < passes) add(nth(shape, pp_rank, Kind::fwd, n));
    if (n >= warm_up) add(nth(shape, pp_rank, Kind::bwd, n - warm_up));
  }
  return order;
}

}  // namespace troika::schedule
