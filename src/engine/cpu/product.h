// The products behind gemm.h where a processor has no matrix units (tile_product.h): oneDNN's on x86-64, our own elsewhere.
#pragma once

#include <cstdint>

#include "cpu/gemm.h"

namespace troika::cpu {

// Our own, on the thread that calls it. C = beta C + A B with beta 0 or 1; row i of C begins at c + i * c_stride; C must not overlap A or B. K at least 1.
// An element adds its products one after the other, each fused, in pieces of product_piece along k whose sums it adds in their
// order. So its bits are the same whatever is beside it and on every processor with fused multiply-add.
// std::bad_alloc where there is no room for copies of the operands: 2 MiB at most.
inline constexpr std::int64_t product_piece = 256;
void product(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
             std::int64_t c_stride);

// The one of this build. C = beta C + A B with beta 0 or 1. Returns 0 when well, or the library's status. On one thread inside a body of
// parallel_for; elsewhere the library may use all, and cut sums as it likes.
inline constexpr int sgemm_out_of_memory = 1, sgemm_unknown = 3;
int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
          std::int64_t c_stride);

// The same of halves. Only where multiplies_halves() (gemm.h).
int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta,
          float* c, std::int64_t c_stride);

}  // namespace troika::cpu
