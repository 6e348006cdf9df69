#include "kernels/activation.h"

#include <ATen/ATen.h>

#include "cpu/activation.h"
#include "kernels/cpu_operands.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

static cpu::ActivationRows activation_rows(const at::Tensor& x, std::int64_t F) {
  return {x.numel() / x.size(-1), F, cpu_dtype(x)};
}

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const at::Tensor gate_up = cpu_operand(gate_up_M2F).contiguous();
    const std::int64_t M = gate_up.size(0), F = gate_up.size(1) / 2;
    const at::Tensor h = at::empty({M, F}, gate_up.options());
    cpu::swiglu_forward(activation_rows(gate_up, F), gate_up.data_ptr(), h.data_ptr());
    return to_dtype_of(gate_up_M2F, h);
  }
  if constexpr (has_cuda_kernels) {
    if (gate_up_M2F.is_cuda()) return on_cuda::swiglu_forward(gate_up_M2F);
  }
  return reference::swiglu_forward(gate_up_M2F);
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const at::Tensor dh = cpu_operand(dh_MF).contiguous(), gate_up = cpu_operand(gate_up_M2F).contiguous();
    const at::Tensor gradient = empty_spaced_rows(gate_up.size(0), gate_up.size(1), gate_up.options());
    cpu::swiglu_backward(activation_rows(dh, dh.size(1)), dh.data_ptr(), gate_up.data_ptr(), gradient.data_ptr(),
                         gradient.stride(0));
    return to_dtype_of(gate_up_M2F, gradient);
  }
  if constexpr (has_cuda_kernels) {
    if (gate_up_M2F.is_cuda()) return on_cuda::swiglu_backward(dh_MF, gate_up_M2F);
  }
  return reference::swiglu_backward(dh_MF, gate_up_M2F);
}

at::Tensor gelu_forward(const at::Tensor& x) {
  if (x.is_cpu()) {
    const at::Tensor whole = cpu_operand(x).contiguous(), y = at::empty_like(whole);
    cpu::gelu_forward(activation_rows(whole, whole.size(-1)), whole.data_ptr(), y.data_ptr());
    return to_dtype_of(x, y);
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::gelu_forward(x);
  }
  return reference::gelu_forward(x);
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  if (x.is_cpu()) {
    const at::Tensor dy_whole = cpu_operand(dy).contiguous(), x_whole = cpu_operand(x).contiguous();
    const at::Tensor dx = empty_spaced_rows(x.size(0), x.size(1), x_whole.options());
    cpu::gelu_backward(activation_rows(x_whole, x_whole.size(1)), dy_whole.data_ptr(), x_whole.data_ptr(),
                       dx.data_ptr(), dx.stride(0));
    return to_dtype_of(x, dx);
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::gelu_backward(dy, x);
  }
  return reference::gelu_backward(dy, x);
}

}  // namespace troika::kernels
