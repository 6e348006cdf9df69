#include "kernels/qk_norm_rope.h"

#include <ATen/ATen.h>

#include "cpu/qk_norm_rope.h"
#include "kernels/cpu_bodies.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

RopeTable make_rope_table(const std::vector<std::int64_t>& positions, std::int64_t head_dim, double theta,
                          const c10::Device& device) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor exponent_I = at::arange(0, head_dim, 2, options).div_(-static_cast<double>(head_dim));
  const at::Tensor frequency_I = at::pow(at::scalar_tensor(theta, options), exponent_I);
  const at::Tensor angle_TI = at::tensor(positions, at::kLong).to(at::kDouble).unsqueeze(1) * frequency_I;
  return {angle_TI.cos().to(at::kFloat).to(device), angle_TI.sin().to(at::kFloat).to(device)};
}

// fp32 whose last dim is contiguous.
static at::Tensor operand(const at::Tensor& x_BTnH) {
  const at::Tensor x = to_float(x_BTnH);
  return x.stride(3) == 1 ? x : x.contiguous();
}

template <class View>
static View view_of(const at::Tensor& x_BTnH) {
  return {x_BTnH.data_ptr<float>(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

// The tensors must outlive the result.
static cpu::QkNormRope operation(const at::Tensor& x_BTnH, const at::Tensor& w_H, const at::Tensor& cos_TI,
                                 const at::Tensor& sin_TI) {
  return {x_BTnH.size(0),        x_BTnH.size(1),           x_BTnH.size(2),          x_BTnH.size(3),
          w_H.data_ptr<float>(), cos_TI.data_ptr<float>(), sin_TI.data_ptr<float>()};
}

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved) {
  if constexpr (has_cpu_bodies) {
    if (x_BTnH.is_cpu()) {
      const at::Tensor x = operand(x_BTnH), w = to_float(w_H).contiguous(), y = at::empty(x.sizes(), x.options());
      const at::Tensor cos = rope.cos_TI.contiguous(), sin = rope.sin_TI.contiguous();
      const at::Tensor rstd_BTn = at::empty(x.sizes().slice(0, 3), x.options());
      cpu::qk_norm_rope_forward(operation(x, w, cos, sin), eps, view_of<cpu::Heads>(x), view_of<cpu::MutableHeads>(y),
                                rstd_BTn.data_ptr<float>());
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
      const at::Tensor dy = operand(dy_BTnH), x = operand(x_BTnH), w = to_float(w_H).contiguous();
      const at::Tensor cos = rope.cos_TI.contiguous(), sin = rope.sin_TI.contiguous();
      const bool direct = dx_BTnH.scalar_type() == at::kFloat && dx_BTnH.stride(3) == 1;
      const at::Tensor dx = direct ? dx_BTnH : at::empty(x.sizes(), x.options());
      cpu::qk_norm_rope_backward(operation(x, w, cos, sin), view_of<cpu::Heads>(dy), view_of<cpu::Heads>(x),
                                 saved.rstd_BTn.data_ptr<float>(), view_of<cpu::MutableHeads>(dx),
                                 dw_H.data_ptr<float>());
      if (!direct) dx_BTnH.copy_(dx);
      return;
    }
  }
  return reference::qk_norm_rope_backward(dy_BTnH, x_BTnH, w_H, rope, saved, dx_BTnH, dw_H);
}

}  // namespace troika::kernels
