#include "cpu/flat.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rounding.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

void round_array(std::int64_t count, const float* x, Bf16* y) {
  const std::int64_t whole = count / 16 * 16;
  for (std::int64_t i = 0; i < whole; i += 16) store16(load16(x + i), y + i);
  if (whole < count) store_first(load_first(x + whole, count - whole), y + whole, count - whole);
}

// As base::to_fp16, which has the rest of an array.
void round_array_to_fp16(std::int64_t count, const float* x, base::Fp16* y) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint16_t, decltype(d)> halves;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto below = [di](auto magnitude, std::int32_t bound) HWY_ATTR { return hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, bound)); };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(d, x + i));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u)), magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, hn::Set(du, 0xc8000fffu)), odd));
    const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f))), hn::Set(du, 0x3f000000u));
    auto half = hn::IfThenElse(hn::RebindMask(du, below(magnitude, 0x38800000)), small, normal);
    half = hn::IfThenElse(hn::RebindMask(du, below(magnitude, 0x477ff000)), half, hn::Set(du, 0x7c00u));
    half = hn::IfThenElse(hn::RebindMask(du, below(magnitude, 0x7f800001)), half, hn::Set(du, 0x7e00u));
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(di, hn::Or(sign, half))), halves, reinterpret_cast<std::uint16_t*>(y + i));
  }
  for (; i < count; ++i) y[i] = base::to_fp16(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(round_array);
HWY_EXPORT(round_array_to_fp16);

void round_to_halves(std::int64_t count, const float* x, Bf16* y) { HWY_DYNAMIC_DISPATCH(round_array)(count, x, y); }
void round_to_halves(std::int64_t count, const float* x, base::Fp16* y) { HWY_DYNAMIC_DISPATCH(round_array_to_fp16)(count, x, y); }

}  // namespace troika::cpu
#endif
