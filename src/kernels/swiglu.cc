#include "kernels/swiglu.h"

#include <ATen/ATen.h>

#include "cpu/activation.h"
#include "kernels/cpu_bodies.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"
#include "kernels/spaced_rows.h"

namespace troika::kernels {

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) {
  if constexpr (has_cpu_bodies) {
    if (gate_up_M2F.is_cpu()) {
      const at::Tensor gate_up = to_float(gate_up_M2F).contiguous();
      const std::int64_t M = gate_up.size(0), F = gate_up.size(1) / 2;
      const at::Tensor h = at::empty({M, F}, gate_up.options());
      cpu::swiglu_forward(M, F, gate_up.data_ptr<float>(), h.data_ptr<float>());
      return to_dtype_of(gate_up_M2F, h);
    }
  }
  return reference::swiglu_forward(gate_up_M2F);
}

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  if constexpr (has_cpu_bodies) {
    if (gate_up_M2F.is_cpu()) {
      const at::Tensor dh = to_float(dh_MF).contiguous(), gate_up = to_float(gate_up_M2F).contiguous();
      const at::Tensor gradient = empty_spaced_rows(gate_up.size(0), gate_up.size(1), gate_up.device());
      cpu::swiglu_backward(dh.size(0), dh.size(1), dh.data_ptr<float>(), gate_up.data_ptr<float>(),
                           gradient.data_ptr<float>(), gradient.stride(0));
      return to_dtype_of(gate_up_M2F, gradient);
    }
  }
  return reference::swiglu_backward(dh_MF, gate_up_M2F);
}

}  // namespace troika::kernels
