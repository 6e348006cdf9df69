// Operations over flat arrays on the device; contracts in kernels/flat.h: an element's result
// depends on its own inputs alone, with one rounding per arithmetic operation, and has the bits that module cpu gives.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

struct AdamWNumbers {
  float lr = 0, beta1 = 0, beta2 = 0, one_minus_beta1 = 0, one_minus_beta2 = 0, eps = 0;
  float m_correction = 1, v_correction = 1;  // 1 / (1 - beta^step)
  float gradient_scale = 1;
};
struct AdamWState {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float *m = nullptr, *v = nullptr;
};

}  // namespace troika::cuda
