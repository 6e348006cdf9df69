// One block of 64-bit integers in fewer bits, on the calling thread. Its format, the same from every CPU: all integers are
// multiples of 2^shift and, divided by it, fit into `width` bits in two's complement. Integer i is number i / 4 of lane
// i % 4; the numbers of a lane follow each other without gaps from the low bits on; word k of lane l is word 4 k + l.
#pragma once

#include <cstdint>

namespace troika::cpu {

inline constexpr std::int64_t packed_block = 256, packed_lanes = 4;  // integers; of the format, on every CPU

struct BlockFormat {
  int width = 0, shift = 0;  // width + shift <= 64; both 0: all integers are
};

// The least width, and the largest shift. x: packed_block integers, as everywhere here.
BlockFormat block_format(const std::int64_t* x);
// Writes 4 * width words.
void pack_block(const std::int64_t* x, const BlockFormat& format, std::uint64_t* words);
// sum += x, modulo 2^64.
void add_block(const std::uint64_t* words, const BlockFormat& format, std::int64_t* sum);

}  // namespace troika::cpu
