#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor rotate(const at::Tensor& x_BTnH, const RopeTable& rope, double direction) {
  const std::int64_t T = x_BTnH.size(1), half = x_BTnH.size(3) / 2;
  const at::Tensor cos_TI = rope.cos_TI.narrow(0, 0, T).unsqueeze(1);
  const at::Tensor sin_TI = rope.sin_TI.narrow(0, 0, T).unsqueeze(1).mul(direction);
  const at::Tensor first = x_BTnH.narrow(3, 0, half), second = x_BTnH.narrow(3, half, half);
  at::Tensor y_BTnH = at::empty_like(x_BTnH, at::MemoryFormat::Contiguous);
  at::Tensor y_first = y_BTnH.narrow(3, 0, half), y_second = y_BTnH.narrow(3, half, half);
  at::mul_out(y_first, first, cos_TI);
  y_first.sub_(second * sin_TI);
  at::mul_out(y_second, second, cos_TI);
  y_second.add_(first * sin_TI);
  return y_BTnH;
}

at::Tensor rope_forward(const at::Tensor& x_BTnH, const RopeTable& rope) {
  return to_dtype_of(x_BTnH, rotate(to_float(x_BTnH), rope, 1.0));
}

void rope_backward(const at::Tensor& dy_BTnH, const RopeTable& rope, const at::Tensor& dx_BTnH) {
  at::Tensor dx = dx_BTnH;
  dx.copy_(rotate(to_float(dy_BTnH), rope, -1.0));
}

}  // namespace troika::kernels::reference
