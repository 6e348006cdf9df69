// y = x w^T. Shapes: M rows, I inputs, O outputs; contiguous rows. Any device; dtypes as in precision.h. On devices
// other than the CPU, halves are multiplied as they are with sums in fp32.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI);          // y_MO
at::Tensor linear_forward_float(const at::Tensor& x_MI, const at::Tensor& w_OI);    // y_MO in fp32, not rounded to half
at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI);  // dx_MI
// Writes dw, fp32.
void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI);

}  // namespace troika::kernels
