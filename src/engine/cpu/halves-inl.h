// Vectors of floats from and to arrays of floats or halves. Rounding is by integers, so every target gives the same bits:
// to nearest, ties to even; NaN becomes the quiet NaN 0x7fc0. For files compiled once per SIMD target.
#if defined(TROIKA_CPU_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_HALVES_INL_H_
#undef TROIKA_CPU_HALVES_INL_H_
#else
#define TROIKA_CPU_HALVES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "cpu/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const float* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const Bf16* p) {
  const hn::Rebind<std::uint16_t, D> half;
  const hn::Rebind<std::uint32_t, D> whole;
  const auto bits = hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(p));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(whole, bits)));
}

template <class D>
HWY_INLINE void store_floats(D d, hn::Vec<D> x, float* p) {
  hn::StoreU(x, d, p);
}
template <class D>
HWY_INLINE void store_floats(D d, hn::Vec<D> x, Bf16* p) {
  const hn::Rebind<std::uint16_t, D> half;
  const hn::Rebind<std::uint32_t, D> whole;
  const hn::Rebind<std::int32_t, D> numbers;
  const auto bits = hn::BitCast(whole, x), upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(whole, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(whole, 0x7fffu))));
  const auto number = hn::RebindMask(whole, hn::Eq(x, x));
  const auto kept = hn::IfThenElse(number, rounded, hn::Set(whole, 0x7fc0u));
  (void)d;
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(numbers, kept)), half, reinterpret_cast<std::uint16_t*>(p));
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();
#endif
