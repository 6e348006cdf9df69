// The instructions of AMX, which no SIMD target of Highway names: eight registers, each a tile of 16 rows of 64 bytes. Only where
// has_tile_units() (tile_units.h), in the lifetime of a TileUnits. For files compiled once per SIMD target.
#include <hwy/highway.h>

#include <cstdint>

#if defined(TROIKA_CPU_TILE_UNITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_TILE_UNITS_INL_H_
#undef TROIKA_CPU_TILE_UNITS_INL_H_
#else
#define TROIKA_CPU_TILE_UNITS_INL_H_
#endif

#undef TROIKA_CPU_TILE_UNITS
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define TROIKA_CPU_TILE_UNITS 1

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t tile_size = 16;  // rows, and words of 4 bytes in a row

// The configuration of this thread's registers, all of them whole; other code finds them as at first.
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

template <int kRegister>
HWY_INLINE void load_tile(const void* data, std::int64_t stride_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(data), "r"(stride_bytes), "i"(kRegister) : "memory");
}
template <int kRegister>
HWY_INLINE void store_tile(void* data, std::int64_t stride_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(data), "r"(stride_bytes), "i"(kRegister) : "memory");
}
template <int kRegister>
HWY_INLINE void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kRegister));
}
// C += A B: a row of A has pairs of halves along the contracted index, a row of B has such a pair of each column. Each element adds one
// sum to C, that of the products of first halves plus that of second halves. Subnormal numbers are taken for zero.
template <int kC, int kA, int kB>
HWY_INLINE void add_tile_product() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
}

// A block of C, kRows x kColumns tiles, in registers 0 to 3; its rows are `stride` floats apart in memory.
template <int kRows, int kColumns>
HWY_INLINE void load_sums(const float* c, std::int64_t stride) {
  const float* below = c + tile_size * stride;
  load_tile<0>(c, 4 * stride);
  if constexpr (kColumns > 1) load_tile<1>(c + tile_size, 4 * stride);
  if constexpr (kRows > 1) load_tile<2>(below, 4 * stride);
  if constexpr (kRows > 1 && kColumns > 1) load_tile<3>(below + tile_size, 4 * stride);
}
template <int kRows, int kColumns>
HWY_INLINE void zero_sums() {
  zero_tile<0>();
  if constexpr (kColumns > 1) zero_tile<1>();
  if constexpr (kRows > 1) zero_tile<2>();
  if constexpr (kRows > 1 && kColumns > 1) zero_tile<3>();
}
template <int kRows, int kColumns>
HWY_INLINE void store_sums(float* c, std::int64_t stride) {
  float* below = c + tile_size * stride;
  store_tile<0>(c, 4 * stride);
  if constexpr (kColumns > 1) store_tile<1>(c + tile_size, 4 * stride);
  if constexpr (kRows > 1) store_tile<2>(below, 4 * stride);
  if constexpr (kRows > 1 && kColumns > 1) store_tile<3>(below + tile_size, 4 * stride);
}
// The block gets the products of A's tiles in registers 4 and 5 and B's in 6 and 7.
template <int kRows, int kColumns>
HWY_INLINE void add_to_sums() {
  add_tile_product<0, 4, 6>();
  if constexpr (kColumns > 1) add_tile_product<1, 4, 7>();
  if constexpr (kRows > 1) add_tile_product<2, 5, 6>();
  if constexpr (kRows > 1 && kColumns > 1) add_tile_product<3, 5, 7>();
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
#define TROIKA_CPU_TILE_UNITS 0
#endif
#endif
