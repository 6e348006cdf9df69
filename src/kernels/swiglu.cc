#include "kernels/swiglu.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F) { return reference::swiglu_forward(gate_up_M2F); }

at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F) {
  return reference::swiglu_backward(dh_MF, gate_up_M2F);
}

}  // namespace troika::kernels
