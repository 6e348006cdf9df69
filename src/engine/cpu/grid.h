// Gradients as integers on a grid: q = g * 2^shift, rounded to nearest, ties to even. Contracts in kernels/grid.h. All of it
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

}  // namespace troika::cpu
