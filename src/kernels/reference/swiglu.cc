#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  const auto parts = to_float(gate_up_M2F).chunk(2, 1);
  return to_dtype_of(gate_up_M2F, at::silu(parts[0]).mul_(parts[1]));
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  const at::Tensor dhf_MF = to_float(dh_MF), both_M2F = to_float(gate_up_M2F);
  const auto parts = both_M2F.chunk(2, 1);
  const at::Tensor sigmoid_MF = parts[0].sigmoid(), silu_MF = parts[0] * sigmoid_MF;
  at::Tensor gradient_M2F = at::empty_like(both_M2F);
  const auto out = gradient_M2F.chunk(2, 1);
  at::Tensor dgate_MF = out[0], dup_MF = out[1];
  at::mul_out(dup_MF, dhf_MF, silu_MF);
  // silu'(g) = s + silu(g) (1 - s)
  const at::Tensor slope_MF = (1.0 - sigmoid_MF).mul_(silu_MF).add_(sigmoid_MF);
  at::mul_out(dgate_MF, slope_MF.mul_(parts[1]), dhf_MF);
  return to_dtype_of(gate_up_M2F, gradient_M2F);
}

}  // namespace troika::kernels::reference
