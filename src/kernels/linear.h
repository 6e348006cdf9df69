// y = x w^T. Shapes: M rows, I inputs, O outputs; fp32, contiguous rows. Any device.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI);                              // y_MO
at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI);                      // dx_MI
void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI);  // writes dw

}  // namespace troika::kernels
