// Sixteen floats, whatever the machine's vector width: sums then have one order everywhere, and a kernel has one text.
// With fused multiply-add a result's bits do not depend on the width; without it mul_add rounds twice.
// For files compiled once per SIMD target, like norm.cc; not for SVE, whose vectors cannot be members.
#if defined(TROIKA_CPU_LANES16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_LANES16_INL_H_
#undef TROIKA_CPU_LANES16_INL_H_
#else
#define TROIKA_CPU_LANES16_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/arrays.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of floats from and to arrays of floats or halves. Rounding is by integers, so every target gives the same bits: to nearest, ties
// to even; NaN becomes the quiet NaN 0x7fc0.

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

using Part = hn::CappedTag<float, 16>;
using PartVec = hn::Vec<Part>;
constexpr std::size_t part_lanes = hn::MaxLanes(Part());

struct F16 {
  static constexpr std::size_t count = 16 / part_lanes;
  PartVec part[count];
  HWY_INLINE F16() {}  // the compiler's own would not be of this target
};

// function(part of each input) for every part.
template <class Function, class... Inputs>
HWY_INLINE F16 map(Function function, const Inputs&... inputs) {
  F16 out;
  for (std::size_t i = 0; i < F16::count; ++i) out.part[i] = function(inputs.part[i]...);
  return out;
}

// Loads floats or halves.
template <class Element>
HWY_INLINE F16 load16(const Element* p) {
  F16 x;
  for (std::size_t i = 0; i < F16::count; ++i) x.part[i] = load_floats(Part(), p + i * part_lanes);
  return x;
}

template <class Element>
HWY_INLINE void store16(const F16& x, Element* p) {
  for (std::size_t i = 0; i < F16::count; ++i) store_floats(Part(), x.part[i], p + i * part_lanes);
}

// The first `count` of sixteen; zeros after them.
template <class Element>
HWY_INLINE F16 load_first(const Element* p, std::int64_t count) {
  if (count >= 16) return load16(p);
  Element copy[16] = {};
  std::copy_n(p, count, copy);
  return load16(copy);
}

template <class Element>
HWY_INLINE void store_first(const F16& x, Element* p, std::int64_t count) {
  if (count >= 16) return store16(x, p);
  Element copy[16];
  store16(x, copy);
  std::copy_n(copy, count, p);
}

HWY_INLINE F16 set16(float value) {
  F16 x;
  for (std::size_t i = 0; i < F16::count; ++i) x.part[i] = hn::Set(Part(), value);
  return x;
}

HWY_INLINE F16 operator+(const F16& a, const F16& b) {
  return map([](PartVec x, PartVec y) HWY_ATTR { return hn::Add(x, y); }, a, b);
}
HWY_INLINE F16 operator-(const F16& a, const F16& b) {
  return map([](PartVec x, PartVec y) HWY_ATTR { return hn::Sub(x, y); }, a, b);
}
HWY_INLINE F16 operator*(const F16& a, const F16& b) {
  return map([](PartVec x, PartVec y) HWY_ATTR { return hn::Mul(x, y); }, a, b);
}
HWY_INLINE F16 operator/(const F16& a, const F16& b) {
  return map([](PartVec x, PartVec y) HWY_ATTR { return hn::Div(x, y); }, a, b);
}
// a * b + c and c - a * b
HWY_INLINE F16 mul_add(const F16& a, const F16& b, const F16& c) {
  return map([](PartVec x, PartVec y, PartVec z) HWY_ATTR { return hn::MulAdd(x, y, z); }, a, b, c);
}
HWY_INLINE F16 neg_mul_add(const F16& a, const F16& b, const F16& c) {
  return map([](PartVec x, PartVec y, PartVec z) HWY_ATTR { return hn::NegMulAdd(x, y, z); }, a, b, c);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE float sum_of_part(Part /*d*/, PartVec x) { return hn::GetLane(x); }
#else
template <class D>
HWY_INLINE float sum_of_part(D /*d*/, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    const auto pairs = hn::Add(x, hn::Shuffle1032(x));
    return hn::GetLane(hn::Add(pairs, hn::Shuffle2301(pairs)));
  } else {
    const hn::Half<D> half;
    return sum_of_part(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}
#endif
// Upper half onto lower half until one is left: the same tree at every width.
HWY_INLINE float sum(F16 x) {
  for (std::size_t n = F16::count / 2; n > 0; n /= 2) {
    for (std::size_t i = 0; i < n; ++i) x.part[i] = hn::Add(x.part[i], x.part[i + n]);
  }
  return sum_of_part(Part(), x.part[0]);
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#endif
