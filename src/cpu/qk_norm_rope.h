// RMSNorm over each head, then rotary positions; formulas in kernels/qk_norm_rope.h. fp32.
#pragma once

#include <cstdint>

#include "cpu/heads.h"
#include "cpu/rope.h"

namespace troika::cpu {

struct QkNormRope {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  const float* w = nullptr;  // H
  RopeRows rows;
};

// rstd: B x T x n, may be null.
void qk_norm_rope_forward(const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y, float* rstd);
void qk_norm_rope_backward(const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw);

}  // namespace troika::cpu
