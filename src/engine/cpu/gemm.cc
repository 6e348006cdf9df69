#include "cpu/gemm.h"

#include <fmt/format.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "cpu/parallel.h"
#include "cpu/flat.h"
#include "cpu/product.h"
#include "cpu/tile_product.h"
#include "cpu/tile_units.h"

namespace troika::cpu {
namespace {

// How C is cut: tiles of about rows x columns.
struct Tiles {
  std::int64_t rows = 0, columns = 0, down = 0, across = 0;
};

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t pieces(std::int64_t extent, std::int64_t piece) { return (extent + piece - 1) / piece; }

// Equal pieces, as few as `piece` allows, on borders that suit vector registers.
std::int64_t even(std::int64_t extent, std::int64_t piece) {
  constexpr std::int64_t unit = 16;
  return pieces(pieces(extent, pieces(extent, piece)), unit) * unit;
}

constexpr std::int64_t largest = 512;

// fp32 that is stored by columns (a weight's gradient) is read in pieces of a row of the tile, so more of the tile's width goes
// to B. Halves are packed whole.
std::int64_t largest_rows(const Matrix& a) { return a.column_stride != 1 ? largest / 2 : largest; }
std::int64_t largest_rows(const HalfMatrix&) { return largest; }

// Large tiles spend less time on packing their operands; enough of them keep several cores busy.
Tiles cut(std::int64_t M, std::int64_t N, std::int64_t most_rows) {
  constexpr std::int64_t smallest = 128, enough = 8;
  std::int64_t rows = std::min(M, most_rows), columns = std::min(N, largest);
  while (pieces(M, rows) * pieces(N, columns) < enough && std::max(rows, columns) > smallest)
    (rows < columns ? columns : rows) = pieces(std::max(rows, columns), 2);
  rows = even(M, rows);
  columns = even(N, columns);
  return {rows, columns, pieces(M, rows), pieces(N, columns)};
}

// Where bits do not depend on tiles: the cut with the least work of the busiest thread. A tile packs its rows of A and its columns of
// B, an element of them as long as `packing` products take; its sums share a cache of 2 MiB with these copies.
template <class Element>
Tiles cut_for_threads(std::int64_t M, std::int64_t N) {
  constexpr std::int64_t packing = std::is_same_v<Element, float> ? 64 : 128, widest = 1024, most_sums = 1 << 18, tried = 8;
  Tiles best;
  std::int64_t least = 0;
  for (std::int64_t down = pieces(M, widest); down < pieces(M, widest) + tried; ++down) {
    for (std::int64_t across = pieces(N, widest); across < pieces(N, widest) + tried; ++across) {
      const std::int64_t rows = even(M, pieces(M, down)), columns = even(N, pieces(N, across));
      const Tiles one{rows, columns, pieces(M, rows), pieces(N, columns)};
      const std::int64_t work = pieces(one.down * one.across, threads()) * (rows * columns + packing * (rows + columns));
      if (rows * columns <= most_sums && (least == 0 || work < least)) {
        best = one;
        least = work;
      }
    }
  }
  return best;
}

// A single row or column, which the library would sum in another order, as two equal ones.
int multiply_thin_tile(std::int64_t m, std::int64_t n, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b,
                       float beta, float* c, std::int64_t c_stride) {
  std::vector<Bf16> twice(static_cast<std::size_t>(2 * K));
  if (m == 1) {
    for (std::int64_t k = 0; k < K; ++k) twice[index(k)] = twice[index(K + k)] = a.data[k * a.column_stride];
    std::vector<float> rows(static_cast<std::size_t>(2 * n), 0.0f);
    if (beta != 0) std::copy_n(c, n, rows.data());
    const int status = n == 1 ? multiply_thin_tile(2, 1, K, {twice.data(), K, 1}, b, beta, rows.data(), 1)
                              : sgemm(2, n, K, {twice.data(), K, 1}, b, beta, rows.data(), n);
    std::copy_n(rows.data(), n, c);
    return status;
  }
  for (std::int64_t k = 0; k < K; ++k) twice[index(k)] = twice[index(K + k)] = b.data[k * b.row_stride];
  std::vector<float> columns(static_cast<std::size_t>(2 * m), 0.0f);
  for (std::int64_t i = 0; i < m; ++i) columns[index(2 * i)] = beta != 0 ? c[i * c_stride] : 0;
  const int status = sgemm(m, 2, K, a, {twice.data(), 1, K}, beta, columns.data(), 2);
  for (std::int64_t i = 0; i < m; ++i) c[i * c_stride] = columns[index(2 * i)];
  return status;
}

// One tile, whose addend is in it already unless beta is 0. Returns 0, or the library's status.
int multiply_by_library(std::int64_t m, std::int64_t n, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta,
                        float* c, std::int64_t c_stride) {
  if (m == 1 || n == 1) return multiply_thin_tile(m, n, K, a, b, beta, c, c_stride);
  return sgemm(m, n, K, a, b, beta, c, c_stride);
}
int multiply_by_library(std::int64_t m, std::int64_t n, std::int64_t K, Matrix a, Matrix b, float beta, float* c,
                        std::int64_t c_stride) {
  constexpr std::int64_t chunk = 512;
  if (a.column_stride == 1) return sgemm(m, n, K, a, b, beta, c, c_stride);
  for (std::int64_t k = 0; k < K; k += chunk) {
    const std::int64_t count = std::min(chunk, K - k);
    if (const int status = sgemm(m, n, count, a, b, k == 0 ? beta : 1.0f, c, c_stride); status != 0) return status;
    a.data += count * a.column_stride;
    b.data += count * b.row_stride;
  }
  return 0;
}
template <class Element>
int multiply_tile(std::int64_t m, std::int64_t n, std::int64_t K, const MatrixOf<Element>& a, const MatrixOf<Element>& b, float beta,
                  float* c, std::int64_t c_stride) {
  if (!has_tile_units()) return multiply_by_library(m, n, K, a, b, beta, c, c_stride);
  multiply_in_tiles(m, n, K, a, b, beta, c, c_stride);
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

template <class Element>
MatrixOf<Element> from_row(const MatrixOf<Element>& a, std::int64_t i) {
  return {a.data + i * a.row_stride, a.row_stride, a.column_stride};
}
template <class Element>
MatrixOf<Element> from_column(const MatrixOf<Element>& b, std::int64_t j) {
  return {b.data + j * b.column_stride, b.row_stride, b.column_stride};
}

template <class Element>
struct Call {
  std::int64_t M, N, K;
  const MatrixOf<Element>&a, &b;
  const Addend& addend;
  const ColumnProducts<Element>& more;
};

// Rows [i, i + m) and columns [j, j + n) of the result.
template <class Element>
int finish_tile(const Call<Element>& call, std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n, float* out,
                std::int64_t stride) {
  const bool has_row = call.addend.kind == Addend::Kind::row, is_zero = call.addend.kind == Addend::Kind::zero;
  if (has_row || (is_zero && call.K == 0)) fill(m, n, has_row ? call.addend.row + j : nullptr, out, stride);
  int status = 0;
  if (call.K > 0)
    status = multiply_tile(m, n, call.K, from_row(call.a, i), from_column(call.b, j), is_zero ? 0.0f : 1.0f, out, stride);
  for (const ColumnProduct<Element>& one : call.more) {
    const std::int64_t begin = std::max(j, one.first), end = std::min(j + n, one.first + one.columns);
    if (status != 0 || begin >= end || one.K == 0) continue;
    status = multiply_tile(m, end - begin, one.K, from_row(one.a, i), from_column(one.b, begin - one.first), 1.0f, out + (begin - j), stride);
  }
  return status;
}

// tile(i, j, m, n) multiplies rows [i, i + m) and columns [j, j + n) of C and returns the library's status.
template <class Element, class Tile>
void each_tile(const Call<Element>& call, const Tile& tile) {
  if (call.M == 0 || call.N == 0) return;
  const Tiles tiles = has_tile_units() ? cut_for_threads<Element>(call.M, call.N) : cut(call.M, call.N, largest_rows(call.a));
  std::atomic<int> failure{0};
  parallel_for(tiles.down * tiles.across, [&](std::int64_t at) {
    const std::int64_t i = at % tiles.down * tiles.rows, j = at / tiles.down * tiles.columns;
    const int status = tile(i, j, std::min(tiles.rows, call.M - i), std::min(tiles.columns, call.N - j));
    if (status != 0) failure = status;
  });
  if (failure == sgemm_out_of_memory) throw std::bad_alloc();
  if (failure != 0)
    throw base::BugError(fmt::format("the matrix library refused {} x {} x {}: status {}", call.M, call.N, call.K, failure.load()));
}

// A tile's sums in fp32 until it is done, in the cache of its core, with room for whole product tiles from any of its columns on. Rows
// are an odd number of cache lines apart: of an even number, few would fit the first cache.
struct Sums {
  Sums(std::int64_t m, std::int64_t n) {
    const auto whole = [](std::int64_t extent) { return pieces(extent, product_tile) * product_tile; };
    stride = whole(n) + product_tile;
    if (stride / product_tile % 2 == 0) stride += product_tile;
    data = hwy::AllocateAligned<float>(static_cast<std::size_t>(whole(m) * stride));
    if (data == nullptr) throw std::bad_alloc();
  }
  float* row(std::int64_t i) const { return data.get() + i * stride; }
  std::int64_t stride = 0;
  hwy::AlignedFreeUniquePtr<float[]> data;
};

void take(std::int64_t n, const float* sums, float* c) { std::copy_n(sums, n, c); }
void take(std::int64_t n, const float* sums, Bf16* c) { round_to_halves(n, sums, c); }

template <class Element, class Out>
void multiply(const Call<Element>& call, Out* c, std::int64_t c_stride) {
  each_tile(call, [&](auto i, auto j, auto m, auto n) {
    Out* out = c + i * c_stride + j;
    if constexpr (std::is_same_v<Out, float>)
      if (!has_tile_units()) return finish_tile(call, i, j, m, n, out, c_stride);
    const Sums sums(m, n);
    if constexpr (std::is_same_v<Out, float>)
      for (std::int64_t row = 0; row < m && call.addend.kind == Addend::Kind::output; ++row) std::copy_n(out + row * c_stride, n, sums.row(row));
    const int status = finish_tile(call, i, j, m, n, sums.row(0), sums.stride);
    for (std::int64_t row = 0; row < m; ++row) take(n, sums.row(row), out + row * c_stride);
    return status;
  });
}

}  // namespace

void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float* c,
          std::int64_t c_stride, const Addend& addend, const ColumnProducts<float>& more) {
  multiply(Call<float>{M, N, K, a, b, addend, more}, c, c_stride);
}

void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float* c,
          std::int64_t c_stride, const Addend& addend, const ColumnProducts<Bf16>& more) {
  multiply(Call<Bf16>{M, N, K, a, b, addend, more}, c, c_stride);
}

void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend, const ColumnProducts<Bf16>& more) {
  multiply(Call<Bf16>{M, N, K, a, b, addend, more}, c, c_stride);
}

void gemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, Bf16* c,
          std::int64_t c_stride, const Addend& addend, const ColumnProducts<float>& more) {
  multiply(Call<float>{M, N, K, a, b, addend, more}, c, c_stride);
}

}  // namespace troika::cpu
