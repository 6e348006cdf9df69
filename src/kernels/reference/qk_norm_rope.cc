#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved) {
  const at::Tensor xf_BTnH = to_float(x_BTnH);
  const at::Tensor rstd_BTn1 = xf_BTnH.square().mean(-1, true).add_(eps).rsqrt_();
  if (saved != nullptr) saved->rstd_BTn = rstd_BTn1.squeeze(-1);
  return to_dtype_of(x_BTnH, rotate((xf_BTnH * rstd_BTn1).mul_(to_float(w_H)), rope, 1.0));
}

void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H) {
  at::Tensor dn_BTnH = rotate(to_float(dy_BTnH), rope, -1.0);
  const at::Tensor rstd_BTn1 = saved.rstd_BTn.unsqueeze(-1);
  const at::Tensor xhat_BTnH = to_float(x_BTnH) * rstd_BTn1;
  at::Tensor dw = dw_H;
  at::sum_out(dw, (dn_BTnH * xhat_BTnH).reshape({-1, x_BTnH.size(3)}), at::IntArrayRef{0}, false);
  dn_BTnH.mul_(to_float(w_H));
  const at::Tensor mean_BTn1 = (dn_BTnH * xhat_BTnH).mean(-1, true);
  at::Tensor dx = dx_BTnH;
  dx.copy_(dn_BTnH.sub_(xhat_BTnH * mean_BTn1).mul_(rstd_BTn1));
}

}  // namespace troika::kernels::reference
