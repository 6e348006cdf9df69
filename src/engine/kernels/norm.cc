#include "kernels/norm.h"

#include "cpu/norm.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::kernels {

static cpu::Rows rows_of(const tensor::Tensor& x_MD) {
  return {x_MD.elements() / x_MD.size(-1), x_MD.size(-1), x_MD.dtype()};
}

tensor::Tensor rms_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, double eps, RmsNormSaved* saved,
                            const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) tensor::add(x_MD, plus_MD);
    const tensor::Tensor x = cpu_operand(x_MD).contiguous(), w = cpu_operand(w_D).contiguous(), y = tensor::empty_like(x);
    const tensor::Tensor rstd_M = empty_statistics(x, x.sizes().slice(0, x.dims() - 1));
    cpu::rms_norm_forward(rows_of(x), x.data(), w.data(), eps, y.data(), rstd_M.data<float>());
    if (saved != nullptr) saved->rstd_M = rstd_M;
    return to_dtype_of(x_MD, y);
  }
  return on_cuda::rms_norm_forward(x_MD, w_D, eps, saved, plus_MD);
}

tensor::Tensor rms_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                             const RmsNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    const tensor::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(), dx = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous();
    const tensor::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : tensor::Tensor();
    cpu::rms_norm_backward(rows_of(x), dy.data(), x.data(), w.data(), saved.rstd_M.data<float>(),
                           plus.defined() ? plus.data() : nullptr, dx.data(), dw_D.data<float>());
    return to_dtype_of(x_MD, dx);
  }
  return on_cuda::rms_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, plus_MD);
}

tensor::Tensor layer_norm_forward(const tensor::Tensor& x_MD, const tensor::Tensor& w_D, const tensor::Tensor& bias_D, double eps,
                              LayerNormSaved* saved, const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    if (plus_MD.defined()) tensor::add(x_MD, plus_MD);
    const tensor::Tensor x = cpu_operand(x_MD).contiguous(), y = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous(), bias = cpu_operand(bias_D).contiguous();
    const tensor::Tensor mean_M = empty_statistics(x, x.sizes().slice(0, x.dims() - 1)), rstd_M = tensor::empty_like(mean_M);
    cpu::layer_norm_forward(rows_of(x), x.data(), w.data(), bias.data(), eps, y.data(),
                            mean_M.data<float>(), rstd_M.data<float>());
    if (saved != nullptr) *saved = {mean_M, rstd_M};
    return to_dtype_of(x_MD, y);
  }
  return on_cuda::layer_norm_forward(x_MD, w_D, bias_D, eps, saved, plus_MD);
}

tensor::Tensor layer_norm_backward(const tensor::Tensor& dy_MD, const tensor::Tensor& x_MD, const tensor::Tensor& w_D,
                               const LayerNormSaved& saved, const tensor::Tensor& dw_D, const tensor::Tensor& dbias_D,
                               const tensor::Tensor& plus_MD) {
  if (x_MD.is_cpu()) {
    const tensor::Tensor dy = cpu_operand(dy_MD).contiguous(), x = cpu_operand(x_MD).contiguous(), dx = tensor::empty_like(x);
    const tensor::Tensor w = cpu_operand(w_D).contiguous();
    const tensor::Tensor plus = plus_MD.defined() ? cpu_operand(plus_MD).contiguous() : tensor::Tensor();
    cpu::layer_norm_backward(rows_of(x), dy.data(), x.data(), w.data(), saved.mean_M.data<float>(),
                             saved.rstd_M.data<float>(), plus.defined() ? plus.data() : nullptr, dx.data(),
                             dw_D.data<float>(), dbias_D.data<float>());
    return to_dtype_of(x_MD, dx);
  }
  return on_cuda::layer_norm_backward(dy_MD, x_MD, w_D, saved, dw_D, dbias_D, plus_MD);
}

}  // namespace troika::kernels
