// Element-wise parts of feed-forward layers, fp32. Formulas: kernels/swiglu.h, kernels/gelu.h.
#pragma once

#include <cstdint>

namespace troika::cpu {

// gate_up: M x 2F, gate first; h: M x F.
void swiglu_forward(std::int64_t M, std::int64_t F, const float* gate_up, float* h);
void swiglu_backward(std::int64_t M, std::int64_t F, const float* dh, const float* gate_up, float* dgate_up);

void gelu_forward(std::int64_t count, const float* x, float* y);
void gelu_backward(std::int64_t count, const float* dy, const float* x, float* dx);

}  // namespace troika::cpu
