// Gradients as integers on a grid, and such integers in fewer bits. q = g * 2^shift, rounded to nearest, ties to even. Contracts in kernels/grid.h. All of it
// goes by pieces over the pool's threads; no result depends on their number or on the width of vectors.
#pragma once

#include <cstdint>

namespace troika::cpu {

// The bits of the largest magnitude among the elements; of NaN and infinity those are above all numbers'.
std::uint32_t round_to_grid(std::int64_t count, float* x, int shift);
std::uint32_t set_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift);
std::uint32_t add_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift);

// Rows of a matrix of width D, by number, ascending; of the matrix there are `count` elements from `first` on.
struct RowsOfPart {
  std::int64_t first = 0, count = 0, rows = 0, D = 0;
  const std::int64_t* row = nullptr;
};
// x: rows x D. What of a row is not in the part is left out of the sum, not of the largest magnitude.
std::uint32_t add_rows(const RowsOfPart& rows, std::int64_t* sum, const float* x, int shift);

void from_integers(std::int64_t count, const std::int64_t* sum, int shift, float* x);

// chunk_squares of flat.h of what from_integers would give. BugError for chunks of more than largest_chunk elements.
inline constexpr std::int64_t largest_chunk = 4096;
void integer_chunk_squares(std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk, double* squares);

// One block of 64-bit integers in fewer bits, on the calling thread. Its format, the same from every CPU: all integers are
// multiples of 2^shift and, divided by it, fit into `width` bits in two's complement. Integer i is number i / 4 of lane
// i % 4; the numbers of a lane follow each other without gaps from the low bits on; word k of lane l is word 4 k + l.
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
