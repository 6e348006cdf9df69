#include "cpu/stream_zeros.h"

#include <hwy/cache_control.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/stream_zeros.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void zeros(std::int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t past_line =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(float)) % lanes;
  std::int64_t i = past_line == 0 ? 0 : std::min(count, lanes - past_line);  // Stream stores aligned vectors
  std::fill(out, out + i, 0.0f);
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::Zero(d), d, out + i);
  std::fill(out + i, out + count, 0.0f);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {
HWY_EXPORT(zeros);
}

void stream_zeros(std::int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(zeros)(count, out);
  hwy::FlushStream();
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
