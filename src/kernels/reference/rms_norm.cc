#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved) {
  const at::Tensor xf_MD = to_float(x_MD);
  const at::Tensor rstd_M1 = xf_MD.square().mean(-1, true).add_(eps).rsqrt_();
  if (saved != nullptr) saved->rstd_M = rstd_M1.squeeze(-1);
  return to_dtype_of(x_MD, (xf_MD * rstd_M1).mul_(to_float(w_D)));
}

at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD) {
  const at::Tensor rstd_M1 = saved.rstd_M.unsqueeze(-1);
  const at::Tensor dyf_MD = to_float(dy_MD), xhat_MD = to_float(x_MD) * rstd_M1;
  at::Tensor dw = dw_D;
  at::sum_out(dw, dyf_MD * xhat_MD, at::IntArrayRef{0}, false);
  at::Tensor dxhat_MD = dyf_MD * to_float(w_D);
  const at::Tensor mean_M1 = (dxhat_MD * xhat_MD).mean(-1, true);
  dxhat_MD.sub_(xhat_MD * mean_M1).mul_(rstd_M1);
  if (plus_MD.defined()) dxhat_MD.add_(plus_MD);
  return to_dtype_of(x_MD, dxhat_MD);
}

}  // namespace troika::kernels::reference
