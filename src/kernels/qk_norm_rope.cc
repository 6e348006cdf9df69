#include "kernels/qk_norm_rope.h"

#include <ATen/ATen.h>

#include "cpu/qk_norm_rope.h"
#include "kernels/cpu_bodies.h"
#include "kernels/head_views.h"
#include "kernels/host_rope.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

// The tensors must outlive the result.
static cpu::QkNormRope operation(const at::Tensor& x_BTnH, const at::Tensor& w_H, const HostRope& table) {
  return {x_BTnH.size(0), x_BTnH.size(1), x_BTnH.size(2), x_BTnH.size(3), w_H.data_ptr<float>(), table.rows};
}

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved) {
  if constexpr (has_cpu_bodies) {
    if (x_BTnH.is_cpu()) {
      const at::Tensor x = heads_operand(x_BTnH), w = to_float(w_H).contiguous(), y = at::empty(x.sizes(), x.options());
      const HostRope table(rope);
      const at::Tensor rstd_BTn = at::empty(x.sizes().slice(0, 3), x.options());
      cpu::qk_norm_rope_forward(operation(x, w, table), eps, heads_view<cpu::Heads>(x),
                                heads_view<cpu::MutableHeads>(y), rstd_BTn.data_ptr<float>());
      if (saved != nullptr) saved->rstd_BTn = rstd_BTn;
      return to_dtype_of(x_BTnH, y);
    }
  }
  return reference::qk_norm_rope_forward(x_BTnH, w_H, eps, rope, saved);
}

void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H) {
  if constexpr (has_cpu_bodies) {
    if (x_BTnH.is_cpu()) {
      const at::Tensor dy = heads_operand(dy_BTnH), x = heads_operand(x_BTnH), w = to_float(w_H).contiguous();
      const HostRope table(rope);
      const bool direct = dx_BTnH.scalar_type() == at::kFloat && dx_BTnH.stride(3) == 1;
      const at::Tensor dx = direct ? dx_BTnH : at::empty(x.sizes(), x.options());
      cpu::qk_norm_rope_backward(operation(x, w, table), heads_view<cpu::Heads>(dy), heads_view<cpu::Heads>(x),
                                 saved.rstd_BTn.data_ptr<float>(), heads_view<cpu::MutableHeads>(dx),
                                 dw_H.data_ptr<float>());
      if (!direct) dx_BTnH.copy_(dx);
      return;
    }
  }
  return reference::qk_norm_rope_backward(dy_BTnH, x_BTnH, w_H, rope, saved, dx_BTnH, dw_H);
}

}  // namespace troika::kernels
