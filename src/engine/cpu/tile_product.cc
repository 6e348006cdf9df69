#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <new>

#include "cpu/tile_packing-inl.h"
#include "cpu/tile_product.h"
#include "cpu/tile_units-inl.h"

#ifndef TROIKA_CPU_TILE_PRODUCT_ONCE
#define TROIKA_CPU_TILE_PRODUCT_ONCE
namespace troika::cpu {

template <class Element>
struct TileProduct {
  std::int64_t M, N, K;
  const MatrixOf<Element>&a, &b;
  float beta;
  float* c;
  std::int64_t c_stride;
};

}  // namespace troika::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace {

#if TROIKA_CPU_TILE_UNITS

template <int kTiles, int kRegister>
HWY_INLINE void load_pair(const std::uint32_t* tiles) {
  load_tile<kRegister>(tiles, 64);
  if constexpr (kTiles > 1) load_tile<kRegister + 1>(tiles + tile_words, 64);
}

// One step along k; of floats small products first.
template <int kRows, int kColumns, class Element>
HWY_INLINE void add_step(const std::uint32_t* a, const std::uint32_t* b) {
  const auto load_a = [&](int plane) HWY_ATTR { load_pair<kRows, 4>(a + plane * 2 * tile_words); };
  const auto load_b = [&](int plane) HWY_ATTR { load_pair<kColumns, 6>(b + plane * 2 * tile_words); };
  if constexpr (planes<Element> == 3) {
    load_a(2);
    load_b(0);
    add_to_sums<kRows, kColumns>();
    load_a(1);
    add_to_sums<kRows, kColumns>();
    load_b(1);
    add_to_sums<kRows, kColumns>();
    load_a(0);
    add_to_sums<kRows, kColumns>();
    load_b(2);
    add_to_sums<kRows, kColumns>();
    load_b(0);
  } else {
    load_a(0);
    load_b(0);
  }
  add_to_sums<kRows, kColumns>();
}

// How a pass adds to C. In registers, which begin with C, C is rounded in every step; in memory, where the sum of the pass is added
// to C, once.
enum class Accumulation { none, in_registers, in_memory };

struct Strip {
  const std::uint32_t *a, *b;
  std::int64_t steps;
  Accumulation accumulation;
  float* c;
  std::int64_t c_stride;
};

template <int kRows, int kColumns>
HWY_INLINE void add_sums(float* c, std::int64_t stride) {
  alignas(64) float sums[tile_depth * tile_depth];
  store_sums<kRows, kColumns>(sums, tile_depth);
  for (std::int64_t row = 0; row < kRows * tile_size; ++row) {
    for (std::int64_t column = 0; column < kColumns * tile_size; column += tile_size) {
      float* at = c + row * stride + column;
      _mm512_storeu_ps(at, _mm512_add_ps(_mm512_loadu_ps(at), _mm512_load_ps(sums + row * tile_depth + column)));
    }
  }
}

template <int kRows, int kColumns, class Element>
HWY_NOINLINE void multiply_strip(const Strip& x) {
  if (x.accumulation == Accumulation::in_registers) {
    load_sums<kRows, kColumns>(x.c, x.c_stride);
  } else {
    zero_sums<kRows, kColumns>();
  }
  const std::uint32_t *a = x.a, *b = x.b;
  for (std::int64_t step = 0; step < x.steps; ++step) {
    add_step<kRows, kColumns, Element>(a, b);
    a += words_of_step<Element>();
    b += words_of_step<Element>();
  }
  if (x.accumulation == Accumulation::in_memory) {
    add_sums<kRows, kColumns>(x.c, x.c_stride);
  } else {
    store_sums<kRows, kColumns>(x.c, x.c_stride);
  }
}

// B's strip of a pass over A's is in the first cache: 24 KiB.
template <class Element>
constexpr std::int64_t depth_of_pass = 384 / planes<Element>;

// Up to this many floats, one rounding in 32 products errs less than a product in fp32 does.
constexpr std::int64_t longest_in_registers = 1024;

template <class Element>
Accumulation accumulation_of_pass(const TileProduct<Element>& x, std::int64_t k) {
  if (k == 0 && x.beta == 0) return Accumulation::none;
  return planes<Element> > 1 && x.K > longest_in_registers ? Accumulation::in_memory : Accumulation::in_registers;
}

template <class Element>
void multiply_in(const TileProduct<Element>& x) {
  const std::int64_t most = std::min(depth_of_pass<Element>, whole_steps(x.K));
  const std::int64_t a_words = packed_words<Element>(x.M, most), b_words = packed_words<Element>(x.N, most);
  const auto memory = hwy::AllocateAligned<std::uint32_t>(static_cast<std::size_t>(a_words + b_words));
  if (memory == nullptr) throw std::bad_alloc();
  std::uint32_t *const a = memory.get(), *const b = a + a_words;
  const std::int64_t group_words = packed_words<Element>(1, most);
  const TileUnits units;
  for (std::int64_t k = 0; k < x.K; k += most) {
    const std::int64_t depth = std::min(most, whole_steps(x.K - k));
    pack_lines<TileRow::line>(Lines<Element>{x.a.data, x.a.row_stride, x.a.column_stride, x.M, x.K}, {k, depth, group_words, a});
    pack_lines<TileRow::word>(Lines<Element>{x.b.data, x.b.column_stride, x.b.row_stride, x.N, x.K}, {k, depth, group_words, b});
    for (std::int64_t j = 0; j < x.N; j += tile_depth) {
      for (std::int64_t i = 0; i < x.M; i += tile_depth) {
        const Strip strip{a + i / tile_depth * group_words, b + j / tile_depth * group_words, depth / tile_depth, accumulation_of_pass(x, k),
                          x.c + i * x.c_stride + j, x.c_stride};
        const bool tall = i + tile_size < x.M, wide = j + tile_size < x.N;
        if (wide) {
          tall ? multiply_strip<2, 2, Element>(strip) : multiply_strip<1, 2, Element>(strip);
        } else {
          tall ? multiply_strip<2, 1, Element>(strip) : multiply_strip<1, 1, Element>(strip);
        }
      }
    }
  }
}

#else

template <class Element>
void multiply_in(const TileProduct<Element>&) {}

#endif

void multiply_floats(const TileProduct<float>& x) { multiply_in(x); }
void multiply_halves(const TileProduct<Bf16>& x) { multiply_in(x); }

}  // namespace
}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {
HWY_EXPORT(multiply_floats);
HWY_EXPORT(multiply_halves);
}  // namespace

void multiply_in_tiles(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
                       std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(multiply_floats)({M, N, K, a, b, beta, c, c_stride});
}
void multiply_in_tiles(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta, float* c,
                       std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(multiply_halves)({M, N, K, a, b, beta, c, c_stride});
}

}  // namespace troika::cpu
#endif
