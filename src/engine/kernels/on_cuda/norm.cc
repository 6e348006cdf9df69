#include "cuda/norm_dispatch.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

cuda::NormRows norm_rows(const tensor::Tensor& x_MD) {
  return {dtype_of(x_MD), x_MD.elements() / x_MD.size(-1), x_MD.size(-1)};
}

tensor::Tensor statistic(const tensor::Tensor& x_MD) {
  return tensor::empty(x_MD.sizes().slice(0, x_MD.dims() - 1), x_MD.type().of(tensor::Dtype::fp32));
}

// The rows that the kernel reads, or adds to and reads.
cuda::NormInput norm_input(const tensor::Tensor& x_MD, const tensor::Tensor& plus_MD) {
  if (!plus_MD.defined()) return {x_MD.data()};
  return {x_MD.data(), plus_MD.data(), x_MD.data()};
}

}  // namespace

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const tensor::Tensor& plus_MD) {
  const tensor::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(), y = tensor::empty_like(x);
  const tensor::Tensor rstd_M = saved != nullptr ? statistic(x) : tensor::Tensor();
  dispatch::rms_norm_forward(OnDevice(x), norm_rows(x), norm_input(x, plus), w.data(), eps, y.data(),
                         static_cast<float*>(data_of(rstd_M)));
  if (saved != nullptr) saved->rstd_M = rstd_M;
  return y;
}

tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                             const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD) {
  const tensor::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const tensor::Tensor dx = tensor::empty_like(x), room = workspace(x, dispatch::rms_norm_backward_floats(norm_rows(x)));
  dispatch::rms_norm_backward(OnDevice(x), norm_rows(x), dy.data(), x.data(), w.data(), saved.rstd_M.data<float>(),
                          data_of(plus), dx.data(), dw_D.data<float>(), room.data<float>());
  return dx;
}

tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const tensor::Tensor& plus_MD) {
  const tensor::Tensor x = x_MD.contiguous(), plus = contiguous(plus_MD), w = w_D.contiguous(), bias = bias_D.contiguous(),
                   y = tensor::empty_like(x);
  LayerNormSaved found;
  if (saved != nullptr) found = {statistic(x), statistic(x)};
  dispatch::layer_norm_forward(OnDevice(x), norm_rows(x), norm_input(x, plus), w.data(), bias.data(), eps, y.data(),
                           static_cast<float*>(data_of(found.mean_M)), static_cast<float*>(data_of(found.rstd_M)));
  if (saved != nullptr) *saved = found;
  return y;
}

tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                               const LayerNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& dbias_D,
                               const tensor::Tensor& plus_MD) {
  const tensor::Tensor dy = dy_MD.contiguous(), x = x_MD.contiguous(), w = w_D.contiguous(), plus = contiguous(plus_MD);
  const tensor::Tensor dx = tensor::empty_like(x), room = workspace(x, dispatch::layer_norm_backward_floats(norm_rows(x)));
  dispatch::layer_norm_backward(OnDevice(x), norm_rows(x), dy.data(), x.data(), w.data(), saved.mean_M.data<float>(),
                            saved.rstd_M.data<float>(), data_of(plus), dx.data(), dw_D.data<float>(),
                            dbias_D.data<float>(), room.data<float>());
  return dx;
}

}  // namespace troika::kernels::on_cuda
