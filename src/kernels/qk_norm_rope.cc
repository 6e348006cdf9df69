#include "kernels/qk_norm_rope.h"

#include <ATen/ATen.h>

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

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved) {
  return reference::qk_norm_rope_forward(x_BTnH, w_H, eps, rope, saved);
}

void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H) {
  return reference::qk_norm_rope_backward(dy_BTnH, x_BTnH, w_H, rope, saved, dx_BTnH, dw_H);
}

}  // namespace troika::kernels
