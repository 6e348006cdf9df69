#include "kernels/activation.h"

#include "cpu/activation.h"
#include "kernels/cpu_operands.h"
#include "kernels/linear.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels {

static cpu::ActivationRows activation_rows(const tensor::Tensor& x, std::int64_t F) {
  return {x.elements() / x.size(-1), F, x.dtype()};
}

tensor::Tensor swiglu_forward(const tensor::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const tensor::Tensor gate_up = cpu_operand(gate_up_M2F).contiguous();
    const std::int64_t M = gate_up.size(0), F = gate_up.size(1) / 2;
    const tensor::Tensor h = tensor::empty({M, F}, gate_up.type());
    cpu::swiglu_forward(activation_rows(gate_up, F), gate_up.data(), h.data());
    return to_dtype_of(gate_up_M2F, h);
  }
  return on_cuda::swiglu_forward(gate_up_M2F);
}

tensor::Tensor swiglu_backward(const tensor::Tensor& dh_MF, const tensor::Tensor& gate_up_M2F) {
  if (gate_up_M2F.is_cpu()) {
    const tensor::Tensor dh = cpu_operand(dh_MF).contiguous(), gate_up = cpu_operand(gate_up_M2F).contiguous();
    const tensor::Tensor gradient = empty_spaced_rows(gate_up.size(0), gate_up.size(1), gate_up.type());
    cpu::swiglu_backward(activation_rows(dh, dh.size(1)), dh.data(), gate_up.data(), gradient.data(),
                         gradient.stride(0));
    return to_dtype_of(gate_up_M2F, gradient);
  }
  return on_cuda::swiglu_backward(dh_MF, gate_up_M2F);
}

tensor::Tensor gelu_forward(const tensor::Tensor& x) {
  if (x.is_cpu()) {
    const tensor::Tensor whole = cpu_operand(x).contiguous(), y = tensor::empty_like(whole);
    cpu::gelu_forward(activation_rows(whole, whole.size(-1)), whole.data(), y.data());
    return to_dtype_of(x, y);
  }
  return on_cuda::gelu_forward(x);
}

tensor::Tensor gelu_backward(const tensor::Tensor& dy, const tensor::Tensor& x) {
  if (x.is_cpu()) {
    const tensor::Tensor dy_whole = cpu_operand(dy).contiguous(), x_whole = cpu_operand(x).contiguous();
    const tensor::Tensor dx = empty_spaced_rows(x.size(0), x.size(1), x_whole.type());
    cpu::gelu_backward(activation_rows(x_whole, x_whole.size(1)), dy_whole.data(), x_whole.data(),
                       dx.data(), dx.stride(0));
    return to_dtype_of(x, dx);
  }
  return on_cuda::gelu_backward(dy, x);
}

}  // namespace troika::kernels
