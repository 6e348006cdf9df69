// Rotary positions; formulas in kernels/rope.h. fp32.
#pragma once

#include <cstdint>

#include "cpu/heads.h"

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

}  // namespace troika::cpu
