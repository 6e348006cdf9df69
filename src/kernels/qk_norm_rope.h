// Qwen3's treatment of queries and keys: RMSNorm over each head, then rotary position embedding (half-split pairs).
// J. Su et al., "RoFormer", 2021; the pairing (i, i + H/2) is that of the published Qwen and Llama weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace troika::kernels {

// Cosines and sines for positions [0, positions). Both [positions, H/2], computed in double, stored in fp32.
struct RopeTable {
  at::Tensor cos_TI, sin_TI;
};
RopeTable make_rope_table(std::int64_t positions, std::int64_t head_dim, double theta, const c10::Device& device);

struct QkNormRopeSaved {
  at::Tensor rstd_BTn;
  std::int64_t bytes() const { return rstd_BTn.defined() ? static_cast<std::int64_t>(rstd_BTn.nbytes()) : 0; }
};

// x_BTnH may be a strided view (last dim contiguous). Position of x[b, t] is offset + t. Returns a contiguous y_BTnH.
at::Tensor qk_norm_rope_forward(const at::Tensor& x_BTnH, const at::Tensor& w_H, double eps, const RopeTable& rope,
                                std::int64_t offset, QkNormRopeSaved* saved);

// Returns dx_BTnH, writes dw_H.
at::Tensor qk_norm_rope_backward(const at::Tensor& dy_BTnH, const at::Tensor& x_BTnH, const at::Tensor& w_H,
                                 const RopeTable& rope, std::int64_t offset, const QkNormRopeSaved& saved,
                                 const at::Tensor& dw_H);

}  // namespace troika::kernels
