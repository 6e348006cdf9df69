// Element-wise parts of feed-forward layers, fp32. Formulas: kernels/activation.h, kernels/activation.h.
#pragma once

#include <cstdint>

namespace troika::cpu {

// gate_up: M x 2F, gate first; h: M x F. Rows of dgate_up begin `stride` elements apart.
void swiglu_forward(std::int64_t M, std::int64_t F, const float* gate_up, float* h);
void swiglu_backward(std::int64_t M, std::int64_t F, const float* dh, const float* gate_up, float* dgate_up,
                     std::int64_t stride);

void gelu_forward(std::int64_t count, const float* x, float* y);
// dy, x: M x F. Rows of dx begin `stride` elements apart.
void gelu_backward(std::int64_t M, std::int64_t F, const float* dy, const float* x, float* dx, std::int64_t stride);

}  // namespace troika::cpu
