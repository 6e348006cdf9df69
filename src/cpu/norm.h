// RMSNorm and LayerNorm over rows of width D, fp32, contiguous. Formulas: kernels/norm.h, kernels/norm.h.
#pragma once

#include <cstdint>

namespace troika::cpu {

struct Rows {
  std::int64_t M = 0, D = 0;
};

// rstd: M values, may be null.
void rms_norm_forward(const Rows& rows, const float* x, const float* w, double eps, float* y, float* rstd);
// dx = gradient + plus (plus: M x D, may be null); dw is written.
void rms_norm_backward(const Rows& rows, const float* dy, const float* x, const float* w, const float* rstd,
                       const float* plus, float* dx, float* dw);

// mean, rstd: M values each, may both be null.
void layer_norm_forward(const Rows& rows, const float* x, const float* w, const float* bias, double eps, float* y,
                        float* mean, float* rstd);
void layer_norm_backward(const Rows& rows, const float* dy, const float* x, const float* w, const float* mean,
                         const float* rstd, const float* plus, float* dx, float* dw, float* dbias);

}  // namespace troika::cpu
