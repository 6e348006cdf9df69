// The numbers of base::Philox::fill_normal, several at a time, with the same bits on every machine.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace troika::cpu {

// out[i] = standard normal number first + i of the stream, times scale. Runs on the calling thread.
void random_normal(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale, float* out);

}  // namespace troika::cpu
