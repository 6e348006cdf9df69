#include "kernels/cpu_operands.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels::reference {

static at::Tensor gains(const at::Tensor& w, Gain gain) { return tensor::theirs(to_float(w)) + added_to_weight(gain); }

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const at::Tensor& plus_MD, Gain gain) {
  if (plus_MD.defined()) x_MD.add_(plus_MD);
  const at::Tensor xf_MD = to_float(x_MD);
  const at::Tensor rstd_M1 = xf_MD.square().mean(-1, true).add_(eps).rsqrt_();
  if (saved != nullptr) saved->rstd_M = rstd_M1.squeeze(-1);
  return to_dtype_of(x_MD, (xf_MD * rstd_M1).mul_(gains(w_D, gain)));
}

at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD, Gain gain) {
  const at::Tensor rstd_M1 = saved.rstd_M.unsqueeze(-1);
  const at::Tensor dyf_MD = to_float(dy_MD), xhat_MD = to_float(x_MD) * rstd_M1;
  at::Tensor dw = dw_D;
  at::sum_out(dw, dyf_MD * xhat_MD, at::IntArrayRef{0}, false);
  at::Tensor dxhat_MD = dyf_MD * gains(w_D, gain);
  const at::Tensor mean_M1 = (dxhat_MD * xhat_MD).mean(-1, true);
  dxhat_MD.sub_(xhat_MD * mean_M1).mul_(rstd_M1);
  if (plus_MD.defined()) dxhat_MD.add_(plus_MD);
  return to_dtype_of(x_MD, dxhat_MD);
}

at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const at::Tensor& plus_MD) {
  if (plus_MD.defined()) x_MD.add_(plus_MD);
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
  const at::Tensor xhat_MD = (tensor::theirs(to_float(x_MD)) - saved.mean_M.unsqueeze(-1)).mul_(rstd_M1);
  at::Tensor dw = dw_D, dbias = dbias_D;
  at::sum_out(dw, dyf_MD * xhat_MD, at::IntArrayRef{0}, false);
  at::sum_out(dbias, dyf_MD, at::IntArrayRef{0}, false);
  at::Tensor dxhat_MD = dyf_MD * to_float(w_D);
  const at::Tensor along_M1 = (dxhat_MD * xhat_MD).mean(-1, true), mean_M1 = dxhat_MD.mean(-1, true);
  dxhat_MD.sub_(mean_M1).sub_(xhat_MD * along_M1).mul_(rstd_M1);
  if (plus_MD.defined()) dxhat_MD.add_(plus_MD);
  return to_dtype_of(x_MD, dxhat_MD);
}

// The rows of cosines or sines that belong to the positions of x: [T, 1, I], or [B, T, 1, I].
static at::Tensor rotated_rows(const at::Tensor& table_TI, const at::Tensor& row_BT, const at::Tensor& x_BTnH) {
  if (!row_BT.defined()) return table_TI.narrow(0, 0, x_BTnH.size(1)).unsqueeze(1);
  return table_TI.index_select(0, row_BT.flatten()).view({x_BTnH.size(0), x_BTnH.size(1), 1, table_TI.size(1)});
}

at::Tensor rotate(const at::Tensor& x_BTnH, const RopeTable& rope, double direction) {
  const std::int64_t half = x_BTnH.size(3) / 2;
  const at::Tensor cos = rotated_rows(rope.cos_TI, rope.row_BT, x_BTnH);
  const at::Tensor sin = rotated_rows(rope.sin_TI, rope.row_BT, x_BTnH).mul(direction);
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

at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain) {
  const at::Tensor xf_BTnH = to_float(x_BTnH);
  const at::Tensor rstd_BTn1 = xf_BTnH.square().mean(-1, true).add_(eps).rsqrt_();
  if (saved != nullptr) saved->rstd_BTn = rstd_BTn1.squeeze(-1);
  return to_dtype_of(x_BTnH, rotate((xf_BTnH * rstd_BTn1).mul_(gains(w_H, gain)), rope, 1.0));
}

void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H, Gain gain) {
  at::Tensor dn_BTnH = rotate(to_float(dy_BTnH), rope, -1.0);
  const at::Tensor rstd_BTn1 = saved.rstd_BTn.unsqueeze(-1);
  const at::Tensor xhat_BTnH = to_float(x_BTnH) * rstd_BTn1;
  at::Tensor dw = dw_H;
  at::sum_out(dw, (dn_BTnH * xhat_BTnH).reshape({-1, x_BTnH.size(3)}), at::IntArrayRef{0}, false);
  dn_BTnH.mul_(gains(w_H, gain));
  const at::Tensor mean_BTn1 = (dn_BTnH * xhat_BTnH).mean(-1, true);
  at::Tensor dx = dx_BTnH;
  dx.copy_(dn_BTnH.sub_(xhat_BTnH * mean_BTn1).mul_(rstd_BTn1));
}

}  // namespace troika::kernels::reference
