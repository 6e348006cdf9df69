// The activations of feed-forward layers; formulas and their sources in kernels/activation.h. Arrays are on the device
// and of the call's dtype.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

struct ActivationRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, F = 0;
};

}  // namespace troika::cuda
