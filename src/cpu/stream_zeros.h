// Zeros for memory that no one reads soon: they go past the caches, which saves reading what they replace.
#pragma once

#include <cstdint>

namespace troika::cpu {

// out[0 ... count) = 0, on the calling thread; other threads see it when they see what this thread writes next.
void stream_zeros(std::int64_t count, float* out);

}  // namespace troika::cpu
