// RMSNorm and LayerNorm over rows of width D; formulas and their sources in kernels/norm.h. Arrays are contiguous and
// on the device; activations and weights have the dtype of the call, statistics and weight gradients are fp32. Results do not depend on the device: rows are cut by shape, and sums have one order.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

struct NormRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, D = 0;
};

// The norm of x, or of sum = x + delta, rounded to the dtype, which is written too.
struct NormInput {
  const void* x = nullptr;      // M x D
  const void* delta = nullptr;  // M x D, may be null
  void* sum = nullptr;          // M x D, null without delta; may be x or delta
};

}  // namespace troika::cuda
