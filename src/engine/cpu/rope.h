// Rotary positions, alone and after RMSNorm of each head; formulas in kernels/rope.h. Heads of one call may differ in dtype.
// Tables, statistics and weight gradients are fp32.
#pragma once

#include <cstdint>

#include "cpu/arrays.h"

namespace troika::cpu {

// Cosines and sines in rows of H/2.
struct RopeRows {
  const float *cos = nullptr, *sin = nullptr;
  const std::int64_t* row = nullptr;  // B x T: which row belongs to a position; null: row t
  std::int64_t at(std::int64_t position, std::int64_t t) const { return row == nullptr ? t : row[position]; }
};

struct Rope {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  RopeRows rows;
};

enum class Turn { forward, back };

// y is x turned by the angle of its position, or back by it: back is forward's gradient. They must not overlap.
void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y);

// RMSNorm over each head, then rotary positions.
struct QkNormRope {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  const void* w = nullptr;  // H, in the dtype of x
  float added = 0;          // to w
  RopeRows rows;
};

// rstd: B x T x n, may be null.
void qk_norm_rope_forward(const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y, float* rstd);
void qk_norm_rope_backward(const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw);

}  // namespace troika::cpu
