// What activations and weights are stored in: fp32, bf16 or fp16. Kernels compute in fp32.
#pragma once

#include "base/dtype.h"

namespace troika::cuda {

using base::Dtype;

}  // namespace troika::cuda
