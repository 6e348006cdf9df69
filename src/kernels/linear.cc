#include "kernels/linear.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI, const at::Tensor& bias_O) {
  return reference::linear_forward(x_MI, w_OI, bias_O);
}

at::Tensor linear_forward_float(const at::Tensor& x_MI, const at::Tensor& w_OI) {
  return reference::linear_forward_float(x_MI, w_OI);
}

at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI) {
  return reference::linear_backward_input(dy_MO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  return reference::linear_backward_weight(dy_MO, x_MI, dw_OI);
}

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O) {
  return reference::linear_backward_bias(dy_MO, dbias_O);
}

}  // namespace troika::kernels
