#include "weights/weights_read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"

namespace troika::weights {
namespace {

// Every 16-bit pattern, twice in a row so that the loops' whole vectors and their rests see it.
std::vector<std::uint16_t> all_patterns() {
  std::vector<std::uint16_t> patterns;
  for (std::uint32_t i = 0; i < 65536; ++i) patterns.push_back(static_cast<std::uint16_t>(i));
  patterns.insert(patterns.end(), {0x7bff, 0x0001, 0x8001});
  return patterns;
}

std::vector<float> widened(base::Dtype dtype, const std::vector<std::uint16_t>& patterns) {
  std::vector<float> values(patterns.size());
  widen(dtype, reinterpret_cast<const std::byte*>(patterns.data()), static_cast<std::int64_t>(patterns.size()),
        values.data());
  return values;
}

std::uint16_t narrowed(base::Dtype dtype, float value, std::int64_t* overflowed = nullptr) {
  std::uint16_t half = 0;
  const std::int64_t count = narrow(&value, 1, dtype, reinterpret_cast<std::byte*>(&half));
  if (overflowed != nullptr) *overflowed = count;
  return half;
}

double value_of_fp16(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                           : exponent == 31 ? mantissa == 0 ? std::numeric_limits<double>::infinity() : NAN
                                            : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Conversion, EveryPatternOfHalfPrecisionComesBackTheSame) {
  const std::vector<std::uint16_t> patterns = all_patterns();
  for (const base::Dtype dtype : {base::Dtype::bf16, base::Dtype::fp16}) {
    const std::vector<float> values = widened(dtype, patterns);
    std::vector<std::uint16_t> back(patterns.size());
    EXPECT_EQ(narrow(values.data(), static_cast<std::int64_t>(values.size()), dtype,
                     reinterpret_cast<std::byte*>(back.data())),
              0);
    EXPECT_EQ(back, patterns) << base::name_of(dtype);
  }
}

TEST(Conversion, HalvesBecomeTheNumbersTheyStandFor) {
  const std::vector<std::uint16_t> patterns = all_patterns();
  const std::vector<float> values = widened(base::Dtype::fp16, patterns);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const double expected = value_of_fp16(patterns[i]);
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(values[i]) : values[i] == expected) << patterns[i];
    ASSERT_EQ(std::signbit(values[i]), (patterns[i] & 0x8000) != 0) << patterns[i];
  }
  EXPECT_EQ(widened(base::Dtype::bf16, {0x3f80, 0xc000, 0x0001, 0x7f80}),
            (std::vector<float>{1, -2, std::ldexp(1.0F, -133), std::numeric_limits<float>::infinity()}));
}

// Between two neighbours the nearer one, in the middle the even one.
TEST(Conversion, RoundsToNearestAndTiesToEven) {
  for (const base::Dtype dtype : {base::Dtype::bf16, base::Dtype::fp16}) {
    const std::uint16_t largest = dtype == base::Dtype::bf16 ? 0x7f7f : 0x7bff;
    for (std::uint16_t low = 0; low < largest; ++low) {
      const auto high = static_cast<std::uint16_t>(low + 1);
      const std::vector<float> pair = widened(dtype, {low, high});
      const double middle = (static_cast<double>(pair[0]) + static_cast<double>(pair[1])) / 2;
      const auto between = static_cast<float>(middle);
      if (between != middle) continue;  // fp32 has no number there
      ASSERT_EQ(narrowed(dtype, between), low % 2 == 0 ? low : high) << low;
      ASSERT_EQ(narrowed(dtype, std::nextafter(between, 0.0F)), low) << low;
      ASSERT_EQ(narrowed(dtype, -std::nextafter(between, HUGE_VALF)), high | 0x8000) << low;
    }
  }
}

TEST(Conversion, NumbersThatBecomeInfiniteAreCounted) {
  std::int64_t overflowed = 0;
  EXPECT_EQ(narrowed(base::Dtype::fp16, 65504, &overflowed), 0x7bff);
  EXPECT_EQ(overflowed, 0);
  EXPECT_EQ(narrowed(base::Dtype::fp16, 65519.996F, &overflowed), 0x7bff);
  EXPECT_EQ(narrowed(base::Dtype::fp16, 65520, &overflowed), 0x7c00);
  EXPECT_EQ(overflowed, 1);
  EXPECT_EQ(narrowed(base::Dtype::fp16, -1e30F, &overflowed), 0xfc00);
  EXPECT_EQ(overflowed, 1);
  EXPECT_EQ(narrowed(base::Dtype::fp16, HUGE_VALF, &overflowed), 0x7c00);
  EXPECT_EQ(overflowed, 0);
  EXPECT_EQ(narrowed(base::Dtype::bf16, std::numeric_limits<float>::max(), &overflowed), 0x7f80);
  EXPECT_EQ(overflowed, 1);
}

TEST(Conversion, ANaNStaysOne) {
  for (const std::uint32_t bits : {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU}) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    EXPECT_EQ(narrowed(base::Dtype::fp16, value) & 0x7c00, 0x7c00);
    EXPECT_NE(narrowed(base::Dtype::fp16, value) & 0x03ff, 0);
    EXPECT_EQ(narrowed(base::Dtype::bf16, value) & 0x7f80, 0x7f80);
    EXPECT_NE(narrowed(base::Dtype::bf16, value) & 0x007f, 0);
  }
}

TEST(Conversion, OtherDtypesAreNoWeights) {
  float value = 0;
  std::byte bytes[8] = {};
  EXPECT_FALSE(is_weight_dtype(base::Dtype::int64));
  EXPECT_THROW(widen(base::Dtype::int32, bytes, 1, &value), base::BugError);
  EXPECT_THROW(narrow(&value, 1, base::Dtype::uint8, bytes), base::BugError);
}

}  // namespace
}  // namespace troika::weights
