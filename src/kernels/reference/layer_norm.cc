#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved) {
  const at::Tensor xf_MD = to_float(x_MD);
  const at::Tensor mean_M1 = xf_MD.mean(-1, true), centred_MD = xf_MD - mean_M1;
  const at::Tensor rstd_M1 = centred_MD.square().mean(-1, true).add_(eps).rsqrt_();
  if (saved != nullptr) *saved = {mean_M1.squeeze(-1), rstd_M1.squeeze(-1)};
  return to_dtype_of(x_MD, (centred_MD * rstd_M1).mul_(to_float(w_D)).add_(to_float(bias_D)));
}

at::Tensor layer_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                               const LayerNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& dbias_D,
                               const at::Tensor& plus_MD) {
  const at::Tensor rstd_M1 = saved.rstd_M.unsqueeze(-1), dyf_MD = to_float(dy_MD);
  const at::Tensor xhat_MD = (to_float(x_MD) - saved.mean_M.unsqueeze(-1)).mul_(rstd_M1);
  at::Tensor dw = dw_D, dbias = dbias_D;
  at::sum_out(dw, dyf_MD * xhat_MD, at::IntArrayRef{0}, false);
  at::sum_out(dbias, dyf_MD, at::IntArrayRef{0}, false);
  at::Tensor dxhat_MD = dyf_MD * to_float(w_D);
  const at::Tensor along_M1 = (dxhat_MD * xhat_MD).mean(-1, true), mean_M1 = dxhat_MD.mean(-1, true);
  dxhat_MD.sub_(mean_M1).sub_(xhat_MD * along_M1).mul_(rstd_M1);
  if (plus_MD.defined()) dxhat_MD.add_(plus_MD);
  return to_dtype_of(x_MD, dxhat_MD);
}

}  // namespace troika::kernels::reference
