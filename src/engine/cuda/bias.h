// The gradient of a bias, the sum over rows of a matrix on the device. The result does
// not depend on the device: rows are cut by shape, and sums have one order.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

struct BiasRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, O = 0;
};

}  // namespace troika::cuda
