#include "cpu/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/error.h"
#include "cpu/parallel.h"
#include "cpu/sgemm.h"

namespace troika::cpu {
namespace {

// How C is cut: tiles of about rows x columns.
struct Tiles {
  std::int64_t rows = 0, columns = 0, down = 0, across = 0;
};

std::int64_t pieces(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Equal pieces, as few as `piece` allows, on borders that suit vector registers.
std::int64_t even(std::int64_t extent, std::int64_t piece) {
  constexpr std::int64_t unit = 16;
  return pieces(pieces(extent, pieces(extent, piece)), unit) * unit;
}

// Large tiles spend less time on packing their operands; enough of them keep several cores busy. A that is stored by columns
// (a weight's gradient) is read in pieces of a row of the tile, so more of the tile's width goes to B.
Tiles cut(std::int64_t M, std::int64_t N, bool a_by_columns) {
  constexpr std::int64_t largest = 512, smallest = 128, enough = 8;
  std::int64_t rows = std::min(M, a_by_columns ? largest / 2 : largest), columns = std::min(N, largest);
  while (pieces(M, rows) * pieces(N, columns) < enough && std::max(rows, columns) > smallest)
    (rows < columns ? columns : rows) = pieces(std::max(rows, columns), 2);
  rows = even(M, rows);
  columns = even(N, columns);
  return {rows, columns, pieces(M, rows), pieces(N, columns)};
}

// Rows k of A stored by columns lie far apart: processors do not foresee that, so the tile's part of them is asked for.
void prefetch_columns(std::int64_t m, std::int64_t K, const Matrix& a) {
  constexpr std::int64_t line = 16;  // floats
  for (std::int64_t k = 0; k < K; ++k) {
    const float* row = a.data + k * a.column_stride;
    for (std::int64_t i = 0; i < m; i += line) __builtin_prefetch(row + i, 0, 2);
  }
}

// One tile, whose addend stands in it already unless beta is 0.
int multiply_tile(std::int64_t m, std::int64_t n, std::int64_t K, Matrix a, Matrix b, float beta, float* c,
                  std::int64_t c_stride) {
  constexpr std::int64_t chunk = 512;
  if (a.column_stride == 1) return sgemm(m, n, K, a, b, beta, c, c_stride);
  for (std::int64_t k = 0; k < K; k += chunk) {
    const std::int64_t count = std::min(chunk, K - k);
    prefetch_columns(m, count, a);
    if (const int status = sgemm(m, n, count, a, b, k == 0 ? beta : 1.0f, c, c_stride); status != 0) return status;
    a.data += count * a.column_stride;
    b.data += count * b.row_stride;
  }
  return 0;
}

void fill(std::int64_t m, std::int64_t n, const float* row, float* c, std::int64_t c_stride) {
  for (std::int64_t i = 0; i < m; ++i) {
    if (row == nullptr) {
      std::fill_n(c + i * c_stride, n, 0.0f);
    } else {
      std::copy_n(row, n, c + i * c_stride);
    }
  }
}

}  // namespace

void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float* c,
          std::int64_t c_stride, const Addend& addend) {
  if (M == 0 || N == 0) return;
  const Tiles tiles = cut(M, N, a.column_stride != 1);
  std::atomic<int> failure{0};
  parallel_for(tiles.down * tiles.across, [&](std::int64_t tile) {
    const std::int64_t i = tile % tiles.down * tiles.rows, j = tile / tiles.down * tiles.columns;
    const std::int64_t m = std::min(tiles.rows, M - i), n = std::min(tiles.columns, N - j);
    float* out = c + i * c_stride + j;
    const bool has_row = addend.kind == Addend::Kind::row, is_zero = addend.kind == Addend::Kind::zero;
    if (has_row || (is_zero && K == 0)) fill(m, n, has_row ? addend.row + j : nullptr, out, c_stride);
    if (K == 0) return;
    const Matrix a_tile{a.data + i * a.row_stride, a.row_stride, a.column_stride};
    const Matrix b_tile{b.data + j * b.column_stride, b.row_stride, b.column_stride};
    const int status = multiply_tile(m, n, K, a_tile, b_tile, is_zero ? 0.0f : 1.0f, out, c_stride);
    if (status != 0) failure = status;
  });
  if (failure == sgemm_out_of_memory) throw std::bad_alloc();
  if (failure != 0)
    throw base::BugError(fmt::format("the matrix library refused {} x {} x {}: status {}", M, N, K, failure.load()));
}

}  // namespace troika::cpu
