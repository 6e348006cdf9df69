// The sum of squares of an array, one text for every target. Included by files that Highway compiles for each target.
#if defined(TROIKA_CPU_SQUARE_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_SQUARE_SUM_INL_H_
#undef TROIKA_CPU_SQUARE_SUM_INL_H_
#else
#define TROIKA_CPU_SQUARE_SUM_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

// The lanes' number is not the vector's, and they are added in their order.
double square_sum(std::int64_t count, const float* x) {
  constexpr std::int64_t lanes = 16;
  double sums[lanes] = {};
  const std::int64_t whole = count / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const double value = x[i + lane];
      sums[lane] += value * value;
    }
  }
  for (std::int64_t i = whole; i < count; ++i) sums[i - whole] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double of_lane : sums) sum += of_lane;
  return sum;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();
#endif
