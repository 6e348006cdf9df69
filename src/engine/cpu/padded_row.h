// Kernels work on whole groups of 16 floats.
#pragma once

#include <cstdint>

namespace troika::cpu {

inline std::int64_t padded_width(std::int64_t width) { return (width + 15) / 16 * 16; }

}  // namespace troika::cpu
