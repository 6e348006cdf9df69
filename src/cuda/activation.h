// The activations of feed-forward layers; formulas and their sources in kernels/activation.h. Arrays are on the device
// and of the call's dtype. Work is queued on the stream.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/stream.h"

namespace troika::cuda {

struct ActivationRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, F = 0;
};

// gate_up: M x 2F, gate first; h: M x F.
void swiglu_forward(const ActivationRows& rows, const void* gate_up, void* h, const Stream& stream);
// Rows of dgate_up (2F) begin `stride` elements apart. It may be gate_up itself.
void swiglu_backward(const ActivationRows& rows, const void* dh, const void* gate_up, void* dgate_up,
                     std::int64_t stride, const Stream& stream);

// x, y: M x F; y may be x.
void gelu_forward(const ActivationRows& rows, const void* x, void* y, const Stream& stream);
// dy, x: M x F. Rows of dx begin `stride` elements apart. It may be dy or x itself.
void gelu_backward(const ActivationRows& rows, const void* dy, const void* x, void* dx, std::int64_t stride,
                   const Stream& stream);

}  // namespace troika::cuda
