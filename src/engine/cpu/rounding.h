// Arrays of floats rounded to halves: to nearest, ties to even; NaN becomes a quiet NaN, 0x7fc0 in bf16, 0x7e00 with its sign in fp16.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

// On the calling thread.
void round_to_halves(std::int64_t count, const float* x, Bf16* y);
void round_to_halves(std::int64_t count, const float* x, base::Fp16* y);

}  // namespace troika::cpu
