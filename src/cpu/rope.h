// Rotary positions; formulas in kernels/rope.h. fp32.
#pragma once

#include <cstdint>

#include "cpu/heads.h"

namespace troika::cpu {

struct Rope {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  const float *cos = nullptr, *sin = nullptr;  // T x H/2 each
};

enum class Turn { forward, back };

// y is x turned by the angle of its position, or back by it: back is forward's gradient. They must not overlap.
void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y);

}  // namespace troika::cpu
