#include "kernels/norm.h"

#include <ATen/ATen.h>

#include "cpu/norm.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

static cpu::Rows rows_of(const at::Tensor& x_MD) {
  return {x_MD.numel() / x_MD.size(-1), x_MD.size(-1), cpu_dtype(x_MD)};
}

at::Tensor rms_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const at::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) x_MD.add_(plus_MD);
    const at::Tensor x = cpu_operand(x_MD).contiguous(), w = cpu_operand(w_D).contiguous(), y = at::empty_like(x);
    const at::Tensor rstd_M = empty_statistics(x, x.sizes().slice(0, x.dim() - 1));
    cpu::rms_norm_forward(rows_of(x), x.data_ptr(), w.data_ptr(), eps, y.data_ptr(), rstd_M.data_ptr<float>());
    if (saved != nullptr) saved->rstd_M = rstd_M;
    return to_dtype_of(x_MD, y);
  }
  if constexpr (has_cuda_kernels) {
    if (x_MD.is_cuda()) return on_cuda::rms_norm_forward(x_MD, w_D, eps, saved, plus_MD);
  }
  return reference::rms_norm_forward(x_MD, w_D, eps, saved, plus_MD);
}

at::Tensor rms_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                             const RmsNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    const at::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(), dx = at::empty_like(x);
    const at::Tensor w = cpu_operand(w_D).contiguous();
    const at::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : at::Tensor();
    cpu::rms_norm_backward(rows_of(x), dy.data_ptr(), x.data_ptr(), w.data_ptr(), saved.rstd_M.data_ptr<float>(),
                           plus.defined() ? plus.data_ptr() : nullptr, dx.data_ptr(), dw_D.data_ptr<float>());
    return to_dtype_of(x_MD, dx);
  }
  if constexpr (has_cuda_kernels) {
    if (x_MD.is_cuda()) return on_cuda::rms_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, plus_MD);
  }
  return reference::rms_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, plus_MD);
}

at::Tensor layer_norm_forward(const at::Tensor& x_MD, const at::Tensor& w_D, const at::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const at::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) x_MD.add_(plus_MD);
    const at::Tensor x = cpu_operand(x_MD).contiguous(), y = at::empty_like(x);
    const at::Tensor w = cpu_operand(w_D).contiguous(), bias = cpu_operand(bias_D).contiguous();
    const at::Tensor mean_M = empty_statistics(x, x.sizes().slice(0, x.dim() - 1)), rstd_M = at::empty_like(mean_M);
    cpu::layer_norm_forward(rows_of(x), x.data_ptr(), w.data_ptr(), bias.data_ptr(), eps, y.data_ptr(),
                            mean_M.data_ptr<float>(), rstd_M.data_ptr<float>());
    if (saved != nullptr) *saved = {mean_M, rstd_M};
    return to_dtype_of(x_MD, y);
  }
  if constexpr (has_cuda_kernels) {
    if (x_MD.is_cuda()) return on_cuda::layer_norm_forward(x_MD, w_D, bias_D, eps, saved, plus_MD);
  }
  return reference::layer_norm_forward(x_MD, w_D, bias_D, eps, saved, plus_MD);
}

at::Tensor layer_norm_backward(const at::Tensor& dy_MD, const at::Tensor& x_MD, const at::Tensor& w_D,
                               const LayerNormSaved& saved, const at::Tensor& dw_D, const at::Tensor& dbias_D,
                               const at::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    const at::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(), dx = at::empty_like(x);
    const at::Tensor w = cpu_operand(w_D).contiguous();
    const at::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : at::Tensor();
    cpu::layer_norm_backward(rows_of(x), dy.data_ptr(), x.data_ptr(), w.data_ptr(), saved.mean_M.data_ptr<float>(),
                             saved.rstd_M.data_ptr<float>(), plus.defined() ? plus.data_ptr() : nullptr, dx.data_ptr(),
                             dw_D.data_ptr<float>(), dbias_D.data_ptr<float>());
    return to_dtype_of(x_MD, dx);
  }
  if constexpr (has_cuda_kernels) {
    if (x_MD.is_cuda()) return on_cuda::layer_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, dbias_D, plus_MD);
  }
  return reference::layer_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, dbias_D, plus_MD);
}

}  // namespace troika::kernels
