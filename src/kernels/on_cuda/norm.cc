#include "cuda/norm.h"

#include <ATen/ATen.h>

#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"

namespace troika::kernels::on_cuda {
namespace {

cuda::NormRows norm_rows(const at::Tensor& x_MD) {
  return {dtype_of(x_MD), x_MD.numel() / x_MD.size(-1), x_MD.size(-1)};
}

at::Tensor statistic(const at::Tensor& x_MD) {
  return at::empty(x_MD.sizes().slice(0, x_MD.dim() - 1), x_MD.options().dtype(at::kFloat));
}

// Of rows that the kernel reads, or adds to and reads.
cuda::NormInput norm_input(const at::Tensor& x_MD, const at::Tensor& plus_MD) {
  if (!plus_MD.defined()) return {x_MD.data_ptr()};
  return {x_MD.data_ptr(), plus_MD.data_ptr(), x_MD.data_ptr()};
}

}  // namespace

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const at::Tensor& plus_MD) {
  const at::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(), y = at::empty_like(x);
  const at::Tensor rstd_M = saved != nullptr ? statistic(x) : at::Tensor();
  cuda::rms_norm_forward(norm_rows(x), norm_input(x, plus), w.data_ptr(), eps, y.data_ptr(),
                         static_cast<float*>(data_of(rstd_M)), stream_of(x));
  if (saved != nullptr) saved->rstd_M = rstd_M;
  return y;
}

at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD) {
  const at::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const at::Tensor dx = at::empty_like(x), room = workspace(x, cuda::rms_norm_backward_floats(norm_rows(x)));
  cuda::rms_norm_backward(norm_rows(x), dy.data_ptr(), x.data_ptr(), w.data_ptr(), saved.rstd_M.data_ptr<float>(),
                          data_of(plus), dx.data_ptr(), dw_D.data_ptr<float>(), room.data_ptr<float>(), stream_of(x));
  return dx;
}

at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const at::Tensor& plus_MD) {
  const at::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(), bias = bias_D.contiguous(),
                   y = at::empty_like(x);
  LayerNormSaved found;
  if (saved != nullptr) found = {statistic(x), statistic(x)};
  cuda::layer_norm_forward(norm_rows(x), norm_input(x, plus), w.data_ptr(), bias.data_ptr(), eps, y.data_ptr(),
                           static_cast<float*>(data_of(found.mean_M)), static_cast<float*>(data_of(found.rstd_M)),
                           stream_of(x));
  if (saved != nullptr) *saved = found;
  return y;
}

at::Tensor layer_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                               const LayerNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& dbias_D,
                               const at::Tensor& plus_MD) {
  const at::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const at::Tensor dx = at::empty_like(x), room = workspace(x, cuda::layer_norm_backward_floats(norm_rows(x)));
  cuda::layer_norm_backward(norm_rows(x), dy.data_ptr(), x.data_ptr(), w.data_ptr(), saved.mean_M.data_ptr<float>(),
                            saved.rstd_M.data_ptr<float>(), data_of(plus), dx.data_ptr(), dw_D.data_ptr<float>(),
                            dbias_D.data_ptr<float>(), room.data_ptr<float>(), stream_of(x));
  return dx;
}

}  // namespace troika::kernels::on_cuda
