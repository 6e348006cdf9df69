// The products of attention by the matrix units of AMX: C (M x N) from A B as in attention_products-inl.h, of pairs of halves, with A by
// rows. Whole tiles of 16 rows of 16 words: M and N are multiples of 16, and operands hold zeros, or what meets zeros, up to the next 16
// contracted words. Each element sums its products in ascending order. For files compiled once per SIMD target.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "cpu/attention_products-inl.h"

#if defined(TROIKA_CPU_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_ATTENTION_TILES_INL_H_
#undef TROIKA_CPU_ATTENTION_TILES_INL_H_
#else
#define TROIKA_CPU_ATTENTION_TILES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {

#if TROIKA_CPU_HALF_PAIRS

// Pairs that the matrix units multiply: only where has_tile_units() (tile_units.h), in the lifetime of a TileUnits, with H a multiple of 32.
struct HalfTiles : HalfPairs {
  static constexpr bool kTiles = true;
};

inline constexpr std::int64_t tile_size = 16;  // rows, and words of a row

// The configuration of this thread's tile registers, all of them whole; other code finds them as at first.
class TileUnits {
 public:
  TileUnits() {
    alignas(64) std::uint8_t config[64] = {1};  // palette
    for (int i = 0; i < 8; ++i) {
      config[16 + 2 * i] = 64;  // bytes of a row
      config[48 + i] = tile_size;
    }
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~TileUnits() { asm volatile("tilerelease"); }
  TileUnits(const TileUnits&) = delete;
  TileUnits& operator=(const TileUnits&) = delete;
};

// Assembly, because no target of this library names AMX. `number` is a constant.
#define TROIKA_TILE_LOAD(number, data, stride_bytes) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #number ::"r"(data), "r"(static_cast<std::int64_t>(stride_bytes)) : "memory")
#define TROIKA_TILE_STORE(number, data, stride_bytes) \
  asm volatile("tilestored %%tmm" #number ", (%0,%1,1)" ::"r"(data), "r"(static_cast<std::int64_t>(stride_bytes)) : "memory")
#define TROIKA_TILE_MULTIPLY(c, a, b) asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define TROIKA_TILE_ZERO(number) asm volatile("tilezero %%tmm" #number ::)

struct TileOperands {
  const std::uint32_t *a, *b;  // at the first contracted word
  std::int64_t a_stride, b_stride, count;
  float* c;
  std::int64_t c_stride;
};

// kRows x kColumns tiles of C: registers 0 to 3. A's are 4 and 5, B's 6 and 7.
template <int kRows, int kColumns, bool kAdds>
HWY_INLINE void multiply_tiles(const TileOperands& x) {
  const std::int64_t a_bytes = 4 * x.a_stride, b_bytes = 4 * x.b_stride, c_bytes = 4 * x.c_stride;
  float* const below = x.c + tile_size * x.c_stride;
  if constexpr (kAdds) {
    TROIKA_TILE_LOAD(0, x.c, c_bytes);
    if constexpr (kColumns > 1) TROIKA_TILE_LOAD(1, x.c + tile_size, c_bytes);
    if constexpr (kRows > 1) TROIKA_TILE_LOAD(2, below, c_bytes);
    if constexpr (kRows > 1 && kColumns > 1) TROIKA_TILE_LOAD(3, below + tile_size, c_bytes);
  } else {
    TROIKA_TILE_ZERO(0);
    if constexpr (kColumns > 1) TROIKA_TILE_ZERO(1);
    if constexpr (kRows > 1) TROIKA_TILE_ZERO(2);
    if constexpr (kRows > 1 && kColumns > 1) TROIKA_TILE_ZERO(3);
  }
  for (std::int64_t i = 0; i < x.count; i += tile_size) {
    const std::uint32_t *const a = x.a + i, *const b = x.b + i * x.b_stride;
    TROIKA_TILE_LOAD(6, b, b_bytes);
    TROIKA_TILE_LOAD(4, a, a_bytes);
    TROIKA_TILE_MULTIPLY(0, 4, 6);
    if constexpr (kColumns > 1) {
      TROIKA_TILE_LOAD(7, b + tile_size, b_bytes);
      TROIKA_TILE_MULTIPLY(1, 4, 7);
    }
    if constexpr (kRows > 1) {
      TROIKA_TILE_LOAD(5, a + tile_size * x.a_stride, a_bytes);
      TROIKA_TILE_MULTIPLY(2, 5, 6);
      if constexpr (kColumns > 1) TROIKA_TILE_MULTIPLY(3, 5, 7);
    }
  }
  TROIKA_TILE_STORE(0, x.c, c_bytes);
  if constexpr (kColumns > 1) TROIKA_TILE_STORE(1, x.c + tile_size, c_bytes);
  if constexpr (kRows > 1) TROIKA_TILE_STORE(2, below, c_bytes);
  if constexpr (kRows > 1 && kColumns > 1) TROIKA_TILE_STORE(3, below + tile_size, c_bytes);
}

#undef TROIKA_TILE_LOAD
#undef TROIKA_TILE_STORE
#undef TROIKA_TILE_MULTIPLY
#undef TROIKA_TILE_ZERO

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
