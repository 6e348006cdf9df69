#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

// The rows of cosines or sines that belong to the positions of x: [T, 1, I], or [B, T, 1, I].
static at::Tensor rows_of(const at::Tensor& table_TI, const at::Tensor& row_BT, const at::Tensor& x_BTnH) {
  if (!row_BT.defined()) return table_TI.narrow(0, 0, x_BTnH.size(1)).unsqueeze(1);
  return table_TI.index_select(0, row_BT.flatten()).view({x_BTnH.size(0), x_BTnH.size(1), 1, table_TI.size(1)});
}

at::Tensor rotate(const at::Tensor& x_BTnH, const RopeTable& rope, double direction) {
  const std::int64_t half = x_BTnH.size(3) / 2;
  const at::Tensor cos = rows_of(rope.cos_TI, rope.row_BT, x_BTnH);
  const at::Tensor sin = rows_of(rope.sin_TI, rope.row_BT, x_BTnH).mul(direction);
  const at::Tensor first = x_BTnH.narrow(3, 0, half), second = x_BTnH.narrow(3, half, half);
  at::Tensor y_BTnH = at::empty_like(x_BTnH, at::MemoryFormat::Contiguous);
  at::Tensor y_first = y_BTnH.narrow(3, 0, half), y_second = y_BTnH.narrow(3, half, half);
  at::mul_out(y_first, first, cos);
  y_first.sub_(second * sin);
  at::mul_out(y_second, second, cos);
  y_second.add_(first * sin);
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
