// Rotary positions, alone and after RMSNorm of each head (Qwen3's queries and keys); formulas and their sources in
// kernels/rope.h. Arrays are on the device; activations and the weight have the dtype of the call, the rest is fp32.
// Work is queued on the stream. Results do not depend on the device. Shapes: B sequences, T positions, n heads, H head
// width, even; B T n below 2^31.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/heads.h"
#include "cuda/stream.h"

namespace troika::cuda {

// Cosines and sines in rows of H/2.
struct RopeRows {
  const float *cos = nullptr, *sin = nullptr;
  const std::int64_t* row = nullptr;  // B x T: which row belongs to a position; null: row t
};

struct Rope {
  Dtype dtype = Dtype::fp32;
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  RopeRows rows;
};

enum class Turn { forward, back };

// y is x turned by the angle of its position, or back by it: back is forward's gradient. y may be x itself, else they
// must not overlap.
void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y, const Stream& stream);

inline constexpr std::int64_t most_normed_head_width = 512;

// H at most most_normed_head_width.
struct QkNormRope {
  Dtype dtype = Dtype::fp32;
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  const void* w = nullptr;  // H
  RopeRows rows;
};

// rstd: B x T x n, may be null. y must not overlap x, unless it is x itself.
void qk_norm_rope_forward(const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y, float* rstd,
                          const Stream& stream);

// Elements of fp32 that a backward needs as memory until its work is done.
std::int64_t qk_norm_rope_backward_floats(const QkNormRope& op);

// dx must not overlap x, and may be dy itself. Writes dw, H.
void qk_norm_rope_backward(const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw, float* workspace, const Stream& stream);

}  // namespace troika::cuda
