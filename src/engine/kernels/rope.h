// Rotary position embedding of queries and keys (half-split pairs), and its table of cosines and sines.
// Shapes: B sequences, T positions, n heads, H head width, I = H/2 pairs. Dtypes as in cpu_operands.h.
// J. Su et al., "RoFormer", 2021; the pairing (i, i + H/2) is that of the published Qwen and Llama weights.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rows.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// How the frequencies theta^(-2i/H) are stretched, for sequences longer than a model was first trained on.
// linear: divided by `factor`. llama3 (the rule of Llama 3.1's published config): divided by it where the wavelength is
// above original_positions / low_freq_factor, left where it is below original_positions / high_freq_factor, and in
// between blended in proportion to original_positions / wavelength. yarn (B. Peng et al., "YaRN", 2023): left below the pair that turns
// beta_fast times over the original positions, divided above the one that turns beta_slow times, blended by the pair's number in between;
// cosines and sines are multiplied by `magnitude`.
struct RopeScaling {
  enum class Kind { none, linear, llama3, yarn } kind = Kind::none;
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4, original_positions = 8192;
  double beta_fast = 32, beta_slow = 1, magnitude = 1;
};

struct RopeFrequencies {
  std::int64_t head_dim = 0;
  double theta = 0;
  RopeScaling scaling = {};
};

// Cosines and sines, one row per given position, computed in double, stored in fp32. Row t belongs to x[:, t], and rows
// beyond T are not read; or row_BT says which row belongs to x[b, t].
struct RopeTable {
  tensor::Tensor cos_TI, sin_TI;
  tensor::Tensor row_BT;  // int64, optional
};
RopeTable make_rope_table(const std::vector<std::int64_t>& positions, const RopeFrequencies& frequencies,
                          const tensor::Device& device);

// The rows of `table` that index_T (int64, on its device) names, in that order.
RopeTable rows(const RopeTable& table, const tensor::Tensor& index_T);

// x_BTnH may be a strided view (last dim contiguous). Returns a contiguous y_BTnH.
tensor::Tensor rope_forward(const tensor::Tensor& x_BTnH, const RopeTable& rope);

// Writes dx_BTnH, which may be a strided view (last dim contiguous).
void rope_backward(const tensor::Tensor& dy_BTnH, const RopeTable& rope, const tensor::Tensor& dx_BTnH);

// Qwen3's treatment of queries and keys: RMSNorm over each head, then rotary position embedding (rope.h), in one pass.
// Shapes: B sequences, T positions, n heads, H head width. Dtypes as in cpu_operands.h.
struct QkNormRopeSaved {
  tensor::Tensor rstd_BTn;  // fp32
  std::int64_t bytes() const { return rstd_BTn.defined() ? static_cast<std::int64_t>(rstd_BTn.bytes()) : 0; }
};

// x_BTnH may be a strided view (last dim contiguous).
// Returns a contiguous y_BTnH.
tensor::Tensor qk_norm_rope_forward(const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H, double eps, const RopeTable& rope,
                                QkNormRopeSaved* saved, Gain gain = Gain::weight);

// Writes dx_BTnH, which may be a strided view (last dim contiguous) in x's dtype, and dw_H, fp32.
void qk_norm_rope_backward(const tensor::Tensor& dy_BTnH, const tensor::Tensor& x_BTnH, const tensor::Tensor& w_H,
                           const RopeTable& rope, const QkNormRopeSaved& saved, const tensor::Tensor& dx_BTnH,
                           const tensor::Tensor& dw_H, Gain gain = Gain::weight);

}  // namespace troika::kernels
