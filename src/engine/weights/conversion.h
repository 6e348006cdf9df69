// Numbers between fp32 and the dtypes that weights are stored in. Every bit pattern of bf16 and fp16 becomes fp32 and comes
// back the same, infinities, subnormals and NaNs included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/safetensors.h"

namespace troika::weights {

bool is_weight_dtype(checkpoint::StoredDtype dtype);  // F32, BF16, F16

// `count` numbers of `from` at `source` (any alignment), exactly. `to` does not overlap.
void widen(checkpoint::StoredDtype from, const std::byte* source, std::int64_t count, float* to);

// Rounds to nearest, ties to even. Returns how many finite numbers became infinite. `to` does not overlap.
std::int64_t narrow(const float* source, std::int64_t count, checkpoint::StoredDtype to, std::byte* target);

}  // namespace troika::weights
