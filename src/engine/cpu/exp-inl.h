// e^x in fp32 for kernels, for any Highway tag of floats.
#if defined(TROIKA_CPU_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_EXP_INL_H_
#undef TROIKA_CPU_EXP_INL_H_
#else
#define TROIKA_CPU_EXP_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

// For x <= 88 (not checked): relative error below 1e-7; 0 or less than 2^-125 where e^x < 2^-126, and 0 for -infinity; NaN for NaN.
// x = n ln 2 + r, |r| <= ln(2) / 2; e^r = 1 + r + r^2 q(r), q interpolates at the five Chebyshev nodes (error 1e-8).
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V fast_exp(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  // Added, it rounds to a whole number, which is in the low bits with the exponent's bias.
  const V rounder = hn::Set(d, 12582912.0f + 127.0f);
  const V lowest = hn::Set(d, -88.0f);
  const V clamped = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);  // unlike Max, lets a NaN through everywhere
  const V shifted = hn::MulAdd(clamped, hn::Set(d, 1.44269504f), rounder);
  const V n = hn::Sub(shifted, rounder);
  // ln 2 in two parts: n times the first is exact.
  const V r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(n, hn::Set(d, 0.693145752f), clamped));
  V q = hn::MulAdd(r, hn::Set(d, 0.001392621347f), hn::Set(d, 0.008363202972f));
  q = hn::MulAdd(r, q, hn::Set(d, 0.04166655444f));
  q = hn::MulAdd(r, q, hn::Set(d, 0.1666657685f));
  q = hn::MulAdd(r, q, hn::Set(d, 0.5f));
  const V one = hn::Set(d, 1.0f), power_of_r = hn::MulAdd(r, hn::MulAdd(r, q, one), one);
  const hn::RebindToUnsigned<D> bits;
  return hn::Mul(power_of_r, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted))));
}

// 2^x, for x <= 127 (not checked): relative error below 2e-7; 0 or less than 2^-125 where 2^x < 2^-126, and 0 for
// -infinity; NaN for NaN. x = n + r, |r| <= 1/2; 2^r by a polynomial of degree 5 (largest error 9e-8), so fewer steps
// than e^x.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V fast_exp2(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V rounder = hn::Set(d, 12582912.0f + 127.0f), lowest = hn::Set(d, -127.0f);
#if HWY_ARCH_X86
  const V clamped = hn::Max(lowest, x);  // of a NaN and another number the second
#else
  const V clamped = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
#endif
  const V shifted = hn::Add(clamped, rounder), r = hn::Sub(clamped, hn::Sub(shifted, rounder));
  V p = hn::MulAdd(r, hn::Set(d, 0.00132647270654f), hn::Set(d, 0.00967151264892f));
  p = hn::MulAdd(r, p, hn::Set(d, 0.0555073374369f));
  p = hn::MulAdd(r, p, hn::Set(d, 0.240222420852f));
  p = hn::MulAdd(r, p, hn::Set(d, 0.693146977599f));
  p = hn::MulAdd(r, p, hn::Set(d, 1.0f));
  const hn::RebindToUnsigned<D> bits;
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted))));
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#endif
