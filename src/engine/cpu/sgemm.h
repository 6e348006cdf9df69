// The product behind gemm.h: oneDNN's on x86-64, our own elsewhere (product.h).
#pragma once

#include <cstdint>
#include <string>

#include "cpu/gemm.h"

namespace troika::cpu {

// C = beta C + A B with beta 0 or 1. Returns 0 when well, or the library's status. On one thread inside a body of
// parallel_for; elsewhere the library may use all, and cut sums as it likes.
inline constexpr int sgemm_out_of_memory = 1, sgemm_unknown = 3;
int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
          std::int64_t c_stride);

// The same of halves. Only where multiplies_halves() (gemm.h).
int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta,
          float* c, std::int64_t c_stride);

// What multiplies, with its version: other libraries, and other versions of one, may cut sums otherwise.
std::string product_library();

}  // namespace troika::cpu
