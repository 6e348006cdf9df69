// h = silu(gate) * up. N. Shazeer, "GLU Variants Improve Transformer", 2020.
// gate_up holds the two projections side by side: [M, 2F], gate first; contiguous. Dtypes as in precision.h.
// The gradient's rows may stand apart.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor swiglu_forward(const at::Tensor& gate_up_M2F);                            // h_MF
at::Tensor swiglu_backward(const at::Tensor& dh_MF, const at::Tensor& gate_up_M2F);  // d(gate_up)_M2F

}  // namespace troika::kernels
