// The products of attention by the matrix units of AMX: C (M x N) from A B as in attention_products-inl.h, of pairs of halves, with A by
// rows. Whole tiles of 16 rows of 16 words: M and N are multiples of 16, and operands hold zeros, or what meets zeros, up to the next 16
// contracted words. Each element sums its products in ascending order. For files compiled once per SIMD target.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "cpu/attention_products-inl.h"
#include "cpu/tile_units-inl.h"

#if defined(TROIKA_CPU_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_ATTENTION_TILES_INL_H_
#undef TROIKA_CPU_ATTENTION_TILES_INL_H_
#else
#define TROIKA_CPU_ATTENTION_TILES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {

#if TROIKA_CPU_TILE_UNITS

// Pairs that the matrix units multiply: only where has_tile_units() (tile_units.h), in the lifetime of a TileUnits, with H a multiple of 32.
struct HalfTiles : HalfPairs {
  static constexpr bool kTiles = true;
};

struct TileOperands {
  const std::uint32_t *a, *b;  // at the first contracted word
  std::int64_t a_stride, b_stride, count;
  float* c;
  std::int64_t c_stride;
};

template <int kRows, int kColumns, bool kAdds>
HWY_INLINE void multiply_tiles(const TileOperands& x) {
  if constexpr (kAdds) {
    load_sums<kRows, kColumns>(x.c, x.c_stride);
  } else {
    zero_sums<kRows, kColumns>();
  }
  for (std::int64_t i = 0; i < x.count; i += tile_size) {
    const std::uint32_t *const a = x.a + i, *const b = x.b + i * x.b_stride;
    load_tile<6>(b, 4 * x.b_stride);
    load_tile<4>(a, 4 * x.a_stride);
    if constexpr (kColumns > 1) load_tile<7>(b + tile_size, 4 * x.b_stride);
    if constexpr (kRows > 1) load_tile<5>(a + tile_size * x.a_stride, 4 * x.a_stride);
    add_to_sums<kRows, kColumns>();
  }
  store_sums<kRows, kColumns>(x.c, x.c_stride);
}

// multiply() of attention_products-inl.h. Finish: Store or Add. span_of is asked for blocks of two tiles by two, fewer at the ends.
template <class Kind, class Finish, class SpanOf, std::enable_if_t<Kind::kTiles, int> = 0>
HWY_INLINE void multiply(std::int64_t M, std::int64_t N, const ByRow<Kind>& a, const std::uint32_t* b, std::int64_t b_stride, Block c,
                         const Finish&, const SpanOf& span_of) {
  constexpr bool adds = std::is_same_v<Finish, Add>;
  static_assert(adds || std::is_same_v<Finish, Store>);
  for (std::int64_t n = 0; n < N; n += 2 * tile_size) {
    for (std::int64_t m = 0; m < M; m += 2 * tile_size) {
      const bool wide = n + tile_size < N, tall = m + tile_size < M;
      const Span asked = span_of(m, n, wide ? 2 * tile_size : tile_size);
      if (asked.begin >= asked.end) continue;
      const std::int64_t first = asked.begin / tile_size * tile_size;
      const TileOperands x{a.data + m * a.stride + first, b + first * b_stride + n, a.stride, b_stride, asked.end - first,
                           c.data + m * c.stride + n, c.stride};
      if (wide) {
        tall ? multiply_tiles<2, 2, adds>(x) : multiply_tiles<1, 2, adds>(x);
      } else {
        tall ? multiply_tiles<2, 1, adds>(x) : multiply_tiles<1, 1, adds>(x);
      }
    }
  }
}

#endif

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
