// Products by the matrix units (tile_units.h), of halves as they are and of floats in three halves each: a = a0 + a1 + a2, each the
// rounded upper half of what remains of a's word, which is exact but for numbers below 2^-110. Of the nine products a0 b0, a0 b1, a1 b0,
// a0 b2, a2 b0 and a1 b1 are summed; the others are below 2^-25 of a b. A sum is rounded once in 32 products of a pair, long sums of
// floats once in 128 products, so an error is that of a product in fp32 or smaller. What is not finite, or above 3.389e38, becomes NaN.
#pragma once

#include <cstdint>

#include "cpu/gemm.h"

namespace troika::cpu {

// C has room for whole tiles, this many rows and columns each way: what is beyond M and N is written too.
inline constexpr std::int64_t product_tile = 16;

// C = beta C + A B with beta 0 or 1, on the thread that calls it; c_stride: at least N up to a whole tile. K at least 1. An element's
// bits depend on its row of A, its column of B and K alone. Only where has_tile_units(). std::bad_alloc where there is no room for copies
// of the operands.
void multiply_in_tiles(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
                       std::int64_t c_stride);
void multiply_in_tiles(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta, float* c,
                       std::int64_t c_stride);

}  // namespace troika::cpu
