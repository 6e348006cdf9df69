#include "kernels/activation.h"

#include <ATen/ATen.h>

#include "cpu/activation.h"
#include "kernels/cpu_operands.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const at::Tensor gate_up = to_float(gate_up_M2F).contiguous();
    const std::int64_t M = gate_up.size(0), F = gate_up.size(1) / 2;
    const at::Tensor h = at::empty({M, F}, gate_up.options());
    cpu::swiglu_forward(M, F, gate_up.data_ptr<float>(), h.data_ptr<float>());
    return to_dtype_of(gate_up_M2F, h);
  }
  if constexpr (has_cuda_kernels) {
    if (gate_up_M2F.is_cuda()) return on_cuda::swiglu_forward(gate_up_M2F);
  }
  return reference::swiglu_forward(gate_up_M2F);
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const at::Tensor dh = to_float(dh_MF).contiguous(), gate_up = to_float(gate_up_M2F).contiguous();
    const at::Tensor gradient = empty_spaced_rows(gate_up.size(0), gate_up.size(1), gate_up.device());
    cpu::swiglu_backward(dh.size(0), dh.size(1), dh.data_ptr<float>(), gate_up.data_ptr<float>(),
                         gradient.data_ptr<float>(), gradient.stride(0));
    return to_dtype_of(gate_up_M2F, gradient);
  }
  if constexpr (has_cuda_kernels) {
    if (gate_up_M2F.is_cuda()) return on_cuda::swiglu_backward(dh_MF, gate_up_M2F);
  }
  return reference::swiglu_backward(dh_MF, gate_up_M2F);
}

at::Tensor gelu_forward(const at::Tensor& x) {
  if (x.is_cpu()) {
    const at::Tensor xf = to_float(x).contiguous(), y = at::empty_like(xf);
    cpu::gelu_forward(xf.numel(), xf.data_ptr<float>(), y.data_ptr<float>());
    return to_dtype_of(x, y);
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::gelu_forward(x);
  }
  return reference::gelu_forward(x);
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  if (x.is_cpu()) {
    const at::Tensor dyf = to_float(dy).contiguous(), xf = to_float(x).contiguous();
    const at::Tensor dx = empty_spaced_rows(x.size(0), x.size(1), x.device());
    cpu::gelu_backward(x.size(0), x.size(1), dyf.data_ptr<float>(), xf.data_ptr<float>(), dx.data_ptr<float>(),
                       dx.stride(0));
    return to_dtype_of(x, dx);
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::gelu_backward(dy, x);
  }
  return reference::gelu_backward(dy, x);
}

}  // namespace troika::kernels
