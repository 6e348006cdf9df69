// Qwen3's treatment of queries and keys: RMSNorm over each head, then rotary position embedding (rope.h), in one pass.
// Shapes: B sequences, T positions, n heads, H head width. Dtypes as in precision.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/rope.h"

namespace troika::kernels {

struct QkNormRopeSaved {
  at::Tensor rstd_BTn;  // fp32
  std::int64_t bytes() const { return rstd_BTn.defined() ? static_cast<std::int64_t>(rstd_BTn.nbytes()) : 0; }
};

// x_BTnH may be a strided view (last dim contiguous).
// Returns a contiguous y_BTnH.
at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved);

// Writes dx_BTnH, which may be a strided view (last dim contiguous) in x's dtype, and dw_H, fp32.
void qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const at::Tensor& dx_BTnH,
                           const at::Tensor& dw_H);

}  // namespace troika::kernels
