// GEMM in fp32, or of halves with sums in fp32. Shapes: C is M x N, row-major; A is M x K, B is K x N. Each thread multiplies
// whole tiles of C whose size depends on the shape alone, so bits do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

// Element (i, j) is at data[i * row_stride + j * column_stride]; one of the two strides is 1.
template <class Element>
struct MatrixOf {
  const Element* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 1;
};
using Matrix = MatrixOf<float>;
using HalfMatrix = MatrixOf<Bf16>;

// What A B is added to.
struct Addend {
  enum class Kind { zero, row, output } kind = Kind::zero;
  const float* row = nullptr;  // of `row`: N values, added to every row of C; `output`: C itself
};

// C = addend + A B. Row i of C begins at c + i * c_stride. C must not overlap A or B. std::bad_alloc when the matrix library
// finds no room.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float* c,
          std::int64_t c_stride, const Addend& addend = {});

// C is rounded once, from fp32. The addend may not be `output`.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend = {});

// Whether this processor and the matrix library multiply bf16 faster than fp32; where not, the gemms below may not be called.
bool multiplies_halves();

// Both: an element of C has the same bits whatever rows and columns are beside its own.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float* c,
          std::int64_t c_stride, const Addend& addend = {});
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend = {});

}  // namespace troika::cpu
