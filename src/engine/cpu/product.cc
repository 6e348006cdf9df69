// Operands are copied into the order in which a tile of registers reads them: rows of A in groups of four and columns of B in
// vectors, each dense along k. A block of A stays in the second-level cache while all columns pass, a panel of B in the first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/product.cc"
#include "cpu/product.h"

#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <new>

#ifndef TROIKA_CPU_PRODUCT_ONCE
#define TROIKA_CPU_PRODUCT_ONCE
namespace troika::cpu {

// Rows of A, columns of B that are copied at a time; multiples of every tile's rows and columns.
constexpr std::int64_t product_rows = 128, product_columns = 1536, rows_per_group = 4;

struct ProductCall {
  std::int64_t M, N, K;
  Matrix a, b;
  float beta;
  float* c;
  std::int64_t c_stride;
};

}  // namespace troika::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using ProductTag = hn::CappedTag<float, 16>;
using ProductVec = hn::Vec<ProductTag>;
constexpr std::int64_t product_lanes = static_cast<std::int64_t>(hn::MaxLanes(ProductTag()));
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int product_groups = 1;  // 16 vector registers
#else
constexpr int product_groups = 2;  // 32
#endif
constexpr int most_vectors = 3;
constexpr std::int64_t tile_rows = product_groups * rows_per_group, tile_columns = most_vectors * product_lanes;

// sum[4 rows][vectors] += four numbers of A by `vectors` vectors of B.
template <int vectors>
HWY_INLINE void add_products(const float* a, const ProductVec (&b)[vectors], ProductVec* sum) {
#if HWY_ARCH_ARM_A64
  const float32x4_t four = vld1q_f32(a);
#pragma GCC unroll 3
  for (int j = 0; j < vectors; ++j) {
    sum[j].raw = vfmaq_laneq_f32(sum[j].raw, b[j].raw, four, 0);
    sum[vectors + j].raw = vfmaq_laneq_f32(sum[vectors + j].raw, b[j].raw, four, 1);
    sum[2 * vectors + j].raw = vfmaq_laneq_f32(sum[2 * vectors + j].raw, b[j].raw, four, 2);
    sum[3 * vectors + j].raw = vfmaq_laneq_f32(sum[3 * vectors + j].raw, b[j].raw, four, 3);
  }
#else
#pragma GCC unroll 4
  for (int m = 0; m < rows_per_group; ++m) {
    const ProductVec factor = hn::Set(ProductTag(), a[m]);
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) sum[m * vectors + j] = hn::MulAdd(factor, b[j], sum[m * vectors + j]);
  }
#endif
}

// tile_rows x (vectors * product_lanes) elements of C. Groups of A and vectors of B are K numbers apart, each times its width.
template <int vectors>
HWY_NOINLINE void product_tile(std::int64_t K, const float* a, const float* b, float beta, float* c,
                               std::int64_t c_stride) {
  const ProductTag d;
  constexpr int per_group = static_cast<int>(rows_per_group) * vectors;
  ProductVec sum[product_groups * per_group];
#pragma GCC unroll 24
  for (ProductVec& one : sum) one = hn::Zero(d);
  const std::int64_t next_group = K * rows_per_group, next_vector = K * product_lanes;
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < K; ++k) {
    ProductVec row[vectors];
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) row[j] = hn::Load(d, b + j * next_vector + k * product_lanes);
#pragma GCC unroll 2
    for (int g = 0; g < product_groups; ++g)
      add_products<vectors>(a + g * next_group + k * rows_per_group, row, sum + g * per_group);
  }
#pragma GCC unroll 8
  for (std::int64_t m = 0; m < tile_rows; ++m) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) {
      float* const at = c + m * c_stride + j * product_lanes;
      const ProductVec total = sum[m * vectors + j];
      hn::StoreU(beta == 0 ? total : hn::Add(hn::LoadU(d, at), total), d, at);
    }
  }
}

// One that reaches beyond the rows or columns that C has.
template <int vectors>
HWY_NOINLINE void product_tile_at_border(std::int64_t K, const float* a, const float* b, float beta, float* c,
                                         std::int64_t c_stride, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t width = vectors * product_lanes;
  HWY_ALIGN float whole[tile_rows * width];
  product_tile<vectors>(K, a, b, 0, whole, width);
  for (std::int64_t m = 0; m < rows; ++m) {
    for (std::int64_t n = 0; n < columns; ++n) {
      float& at = c[m * c_stride + n];
      at = beta == 0 ? whole[m * width + n] : at + whole[m * width + n];
    }
  }
}

template <int vectors>
HWY_INLINE void product_rows_of_panel(std::int64_t K, std::int64_t rows, std::int64_t columns, const float* a,
                                      const float* b, float beta, float* c, std::int64_t c_stride) {
  for (std::int64_t m = 0; m < rows; m += tile_rows, a += tile_rows * K, c += tile_rows * c_stride) {
    if (rows - m >= tile_rows && columns == vectors * product_lanes) {
      product_tile<vectors>(K, a, b, beta, c, c_stride);
    } else {
      product_tile_at_border<vectors>(K, a, b, beta, c, c_stride, std::min(rows - m, tile_rows), columns);
    }
  }
}

// to[k][4] of four rows of A that are dense along k.
HWY_INLINE void interleave_four(const float* from, std::int64_t stride, std::int64_t K, float* to) {
  const ProductTag d;
  const float *x0 = from, *x1 = from + stride, *x2 = from + 2 * stride, *x3 = from + 3 * stride;
  std::int64_t k = 0;
  for (; k + product_lanes <= K; k += product_lanes)
    hn::StoreInterleaved4(hn::LoadU(d, x0 + k), hn::LoadU(d, x1 + k), hn::LoadU(d, x2 + k), hn::LoadU(d, x3 + k), d,
                          to + 4 * k);
  for (; k < K; ++k) {
    to[4 * k] = x0[k];
    to[4 * k + 1] = x1[k];
    to[4 * k + 2] = x2[k];
    to[4 * k + 3] = x3[k];
  }
}

// to[k][width]: `count` of `width` vectors that are `stride` apart and have `step` between their elements; then zeros.
HWY_INLINE void copy_some(const float* from, std::int64_t stride, std::int64_t step, std::int64_t count,
                          std::int64_t width, std::int64_t K, float* to) {
  for (std::int64_t k = 0; k < K; ++k) {
    for (std::int64_t i = 0; i < width; ++i) to[k * width + i] = i < count ? from[i * stride + k * step] : 0.0f;
  }
}

// Group after group: [4 rows][K] as [K][4].
void pack_rows_of_product(const Matrix& a, std::int64_t rows, std::int64_t K, float* to) {
  const std::int64_t whole_tiles = (rows + tile_rows - 1) / tile_rows * tile_rows;
  for (std::int64_t m = 0; m < whole_tiles; m += rows_per_group, to += rows_per_group * K) {
    const float* from = a.data + m * a.row_stride;
    if (rows - m < rows_per_group) {
      copy_some(from, a.row_stride, a.column_stride, std::max<std::int64_t>(rows - m, 0), rows_per_group, K, to);
    } else if (a.column_stride == 1) {
      interleave_four(from, a.row_stride, K, to);
    } else {
      for (std::int64_t k = 0; k < K; ++k) std::memcpy(to + k * 4, from + k * a.column_stride, 4 * sizeof(float));
    }
  }
}

// Vector after vector: [K][product_lanes]. Whole vectors of a panel together, since a row's cache line holds several.
void pack_columns_of_product(const Matrix& b, std::int64_t columns, std::int64_t K, float* to) {
  const ProductTag d;
  const std::int64_t whole = columns / product_lanes;
  if (b.column_stride == 1) {
    for (std::int64_t panel = 0; panel < whole; panel += most_vectors) {
      const std::int64_t vectors = std::min<std::int64_t>(most_vectors, whole - panel);
      for (std::int64_t k = 0; k < K; ++k) {
        const float* const from = b.data + k * b.row_stride + panel * product_lanes;
        for (std::int64_t j = 0; j < vectors; ++j)
          hn::Store(hn::LoadU(d, from + j * product_lanes), d, to + ((panel + j) * K + k) * product_lanes);
      }
    }
  } else {
    for (std::int64_t j = 0; j < whole; ++j) {
      const float* const from = b.data + j * product_lanes * b.column_stride;
      if (product_lanes == 4) {
        interleave_four(from, b.column_stride, K, to + j * product_lanes * K);
      } else {
        copy_some(from, b.column_stride, b.row_stride, product_lanes, product_lanes, K, to + j * product_lanes * K);
      }
    }
  }
  if (const std::int64_t rest = columns - whole * product_lanes; rest > 0)
    copy_some(b.data + whole * product_lanes * b.column_stride, b.column_stride, b.row_stride, rest, product_lanes, K,
              to + whole * product_lanes * K);
}

// A block of rows by all columns that are copied.
void product_block(std::int64_t rows, std::int64_t columns, std::int64_t K, const float* a, const float* b, float beta,
                   float* c, std::int64_t c_stride) {
  for (std::int64_t n = 0; n < columns; n += tile_columns, b += tile_columns * K, c += tile_columns) {
    const std::int64_t here = std::min(columns - n, tile_columns);
    if (here > 2 * product_lanes) {
      product_rows_of_panel<3>(K, rows, here, a, b, beta, c, c_stride);
    } else if (here > product_lanes) {
      product_rows_of_panel<2>(K, rows, here, a, b, beta, c, c_stride);
    } else {
      product_rows_of_panel<1>(K, rows, here, a, b, beta, c, c_stride);
    }
  }
}

// Room for the copies of a piece, in floats.
std::int64_t rounded_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

void product_of_target(const ProductCall& call) {
  const std::int64_t most_K = std::min(call.K, product_piece);
  const std::int64_t a_room = rounded_up(std::min(call.M, product_rows), tile_rows) * most_K;
  const std::int64_t b_room = rounded_up(std::min(call.N, product_columns), product_lanes) * most_K;
  const auto room = hwy::AllocateAligned<float>(static_cast<std::size_t>(rounded_up(a_room, 64) + b_room));
  if (room == nullptr) throw std::bad_alloc();
  float *const a = room.get(), *const b = a + rounded_up(a_room, 64);
  for (std::int64_t n = 0; n < call.N; n += product_columns) {
    const std::int64_t columns = std::min(product_columns, call.N - n);
    for (std::int64_t k = 0; k < call.K; k += product_piece) {
      const std::int64_t K = std::min(product_piece, call.K - k);
      pack_columns_of_product(
          {call.b.data + k * call.b.row_stride + n * call.b.column_stride, call.b.row_stride, call.b.column_stride},
          columns, K, b);
      for (std::int64_t m = 0; m < call.M; m += product_rows) {
        const std::int64_t rows = std::min(product_rows, call.M - m);
        pack_rows_of_product(
            {call.a.data + m * call.a.row_stride + k * call.a.column_stride, call.a.row_stride, call.a.column_stride},
            rows, K, a);
        product_block(rows, columns, K, a, b, k == 0 ? call.beta : 1.0f, call.c + m * call.c_stride + n, call.c_stride);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {
HWY_EXPORT(product_of_target);
}  // namespace

void product(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
             std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(product_of_target)({M, N, K, a, b, beta, c, c_stride});
}

}  // namespace troika::cpu
#endif
