// RMSNorm and LayerNorm over rows of width D, contiguous. Formulas: kernels/norm.h. Activations and weights (void) have the
// dtype of the call, statistics and weight gradients are fp32.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

struct Rows {
  std::int64_t M = 0, D = 0;
  Dtype dtype = Dtype::fp32;
};

// rstd: M values, may be null.
void rms_norm_forward(const Rows& rows, const void* x, const void* w, double eps, void* y, float* rstd);
// dx = gradient + plus (plus: M x D, may be null); dw is written.
void rms_norm_backward(const Rows& rows, const void* dy, const void* x, const void* w, const float* rstd,
                       const void* plus, void* dx, float* dw);

// mean, rstd: M values each, may both be null.
void layer_norm_forward(const Rows& rows, const void* x, const void* w, const void* bias, double eps, void* y,
                        float* mean, float* rstd);
void layer_norm_backward(const Rows& rows, const void* dy, const void* x, const void* w, const float* mean,
                         const float* rstd, const void* plus, void* dx, float* dw, float* dbias);

}  // namespace troika::cpu
