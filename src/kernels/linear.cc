#include "kernels/linear.h"

#include <ATen/ATen.h>

namespace troika::kernels {

at::Tensor linear_forward(const at::Tensor& x_MI, const at::Tensor& w_OI) { return at::mm(x_MI, w_OI.t()); }

at::Tensor linear_backward_input(const at::Tensor& dy_MO, const at::Tensor& w_OI) { return at::mm(dy_MO, w_OI); }

void linear_backward_weight(const at::Tensor& dy_MO, const at::Tensor& x_MI, const at::Tensor& dw_OI) {
  at::Tensor out = dw_OI;
  at::mm_out(out, dy_MO.t(), x_MI);
}

}  // namespace troika::kernels
