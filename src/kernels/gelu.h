// GELU by its tanh approximation, as GPT-2 uses it: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). D. Hendrycks,
// K. Gimpel, "Gaussian Error Linear Units", 2016. Contiguous matrices; dtypes as in precision.h. The gradient's rows may stand apart.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor gelu_forward(const at::Tensor& x);
at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x);  // dx

}  // namespace troika::kernels
