#include "cpu/rounding.h"

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

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(round_array);

void round_to_halves(std::int64_t count, const float* x, Bf16* y) { HWY_DYNAMIC_DISPATCH(round_array)(count, x, y); }

}  // namespace troika::cpu
#endif
