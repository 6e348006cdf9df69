// RMSNorm and LayerNorm over rows of width D; formulas and their sources in kernels/norm.h. Arrays are contiguous and
// on the device; activations and weights have the dtype of the call, statistics and weight gradients are fp32. Work is
// queued on the stream. Results do not depend on the device: rows are cut by shape, and sums have one order.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/stream.h"

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

// w: D; y: M x D, no other array of the call; rstd: M, may be null.
void rms_norm_forward(const NormRows& rows, const NormInput& input, const void* w, double eps, void* y, float* rstd,
                      const Stream& stream);

// Elements of fp32 that a backward needs as memory until its work is done.
std::int64_t rms_norm_backward_floats(const NormRows& rows);
std::int64_t layer_norm_backward_floats(const NormRows& rows);

// dx (M x D) = gradient + plus (M x D, may be null); it may be dy or plus. x: what was normed. Writes dw, D.
void rms_norm_backward(const NormRows& rows, const void* dy, const void* x, const void* w, const float* rstd,
                       const void* plus, void* dx, float* dw, float* workspace, const Stream& stream);

// w, bias: D; mean, rstd: M each, may both be null.
void layer_norm_forward(const NormRows& rows, const NormInput& input, const void* w, const void* bias, double eps,
                        void* y, float* mean, float* rstd, const Stream& stream);

// As rms_norm_backward; writes dw and dbias, D each.
void layer_norm_backward(const NormRows& rows, const void* dy, const void* x, const void* w, const float* mean,
                         const float* rstd, const void* plus, void* dx, float* dw, float* dbias, float* workspace,
                         const Stream& stream);

}  // namespace troika::cuda
