// Element-wise parts of feed-forward layers. Formulas: kernels/activation.h. All arrays of a call have its dtype.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

struct ActivationRows {
  std::int64_t M = 0, F = 0;
  Dtype dtype = Dtype::fp32;
};

// gate_up: M x 2F, gate first; h: M x F. Rows of dgate_up begin `stride` elements apart.
void swiglu_forward(const ActivationRows& rows, const void* gate_up, void* h);
void swiglu_backward(const ActivationRows& rows, const void* dh, const void* gate_up, void* dgate_up,
                     std::int64_t stride);

// x, y, dy: M x F. Rows of dx begin `stride` elements apart.
void gelu_forward(const ActivationRows& rows, const void* x, void* y);
void gelu_backward(const ActivationRows& rows, const void* dy, const void* x, void* dx, std::int64_t stride);

}  // namespace troika::cpu
