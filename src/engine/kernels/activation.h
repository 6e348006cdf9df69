// The activations of feed-forward layers, over contiguous matrices. Dtypes as in cpu_operands.h. Rows of the gradients
// may have a stride.
#pragma once

#include "tensor/tensor.h"

namespace troika::kernels {

// h = silu(gate) * up. N. Shazeer, "GLU Variants Improve Transformer", 2020. gate_up holds the two projections side by side:
// [M, 2F], gate first.
tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F);                            // h_MF
tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F);  // d(gate_up)_M2F

// GELU by its tanh approximation, as GPT-2 uses it: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). D. Hendrycks,
// K. Gimpel, "Gaussian Error Linear Units", 2016.
tensor::Tensor gelu_forward(const tensor::Tensor& x);
tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x);  // dx

}  // namespace troika::kernels
