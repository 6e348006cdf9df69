// The activations of feed-forward layers, over contiguous matrices. Dtypes as in cpu_operands.h. Rows of the gradients may stand
// apart.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

// h = silu(gate) * up. N. Shazeer, "GLU Variants Improve Transformer", 2020. gate_up holds the two projections side by side:
// [M, 2F], gate first.
at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F);                            // h_MF
at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F);  // d(gate_up)_M2F

// GELU by its tanh approximation, as GPT-2 uses it: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). D. Hendrycks,
// K. Gimpel, "Gaussian Error Linear Units", 2016.
at::Tensor gelu_forward(const at::Tensor& x);
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x);  // dx

}  // namespace troika::kernels
