// GEMM in fp32, or of halves with sums in fp32. Shapes: C is M x N, row-major; A is M x K, B is K x N. Each thread multiplies
// whole tiles of C. Bits do not depend on the number of threads: matrix units (tile_product.h) give an element the same bits in any
// tile; elsewhere the size of a tile depends on the shape alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/arrays.h"

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

// A further product that is added to `columns` of C, from `first` on, while a tile is in the cache. a is M x K, b is K x columns.
template <class Element>
struct ColumnProduct {
  std::int64_t first = 0, columns = 0, K = 0;
  MatrixOf<Element> a, b;
};
template <class Element>
using ColumnProducts = std::vector<ColumnProduct<Element>>;

// C = addend + A B + those of `more`. Row i of C begins at c + i * c_stride. C must not overlap A or B. std::bad_alloc when the
// matrix library finds no room.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float* c,
          std::int64_t c_stride, const Addend& addend = {}, const ColumnProducts<float>& more = {});

// C is rounded once, from fp32. The addend may not be `output`.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend = {}, const ColumnProducts<float>& more = {});

// Whether this processor multiplies bf16 faster than fp32, by matrix units or the matrix library; where not, the gemms below may not be called.
bool multiplies_halves();

// Both: an element of C has the same bits whatever rows and columns are beside its own; with matrix units that holds for fp32 too.
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float* c,
          std::int64_t c_stride, const Addend& addend = {}, const ColumnProducts<Bf16>& more = {});
void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend = {}, const ColumnProducts<Bf16>& more = {});

// What multiplies, a library with its version: others, and other versions of one, may cut sums otherwise.
std::string product_library();

// Products of a few rows with a large weight, which is what decoding computes: bound by reading the weight, so halves are
// read as they are. A row's result has the same bits whatever the other rows are, and for any number of threads.
// Shapes: M rows, I inputs, O outputs.

// Above this many rows gemm() is faster.
inline constexpr std::int64_t few_rows = 16;

struct Weight {
  Dtype element = Dtype::fp32;  // or bf16, fp16
  enum class Order { out_in, in_out } order = Order::out_in;  // [O, I], or [I, O]; dense
  std::int64_t I = 0, O = 0;
  const void* data = nullptr;
};

// y = x w^T + bias, in fp32. x: M x I, dense; y: M x O, rows y_stride apart; `bias_O` may be null. y must not overlap the
// inputs.
void multiply_few_rows(std::int64_t M, const float* x_MI, const Weight& w, const float* bias_O, float* y_MO,
                       std::int64_t y_stride);

}  // namespace troika::cpu
