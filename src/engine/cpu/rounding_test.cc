#include "cpu/flat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// By the definition: the nearer neighbour, of two equally near ones the even one.
std::uint16_t nearest_half(std::uint32_t bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  const std::uint32_t below = bits >> 16, rest = bits & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && below % 2 == 1);
  return static_cast<std::uint16_t>(below + (up ? 1 : 0));
}

// Every exponent and sign with last bits around a tie.
std::vector<std::uint32_t> telling_bits() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t upper = 0; upper < 0x10000u; upper += 3)
    for (const std::uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) all.push_back(upper << 16 | lower);
  for (const std::uint32_t bits : {0x7f800000u, 0xff800000u, 0x7f800001u, 0xffffffffu, 0x7fffffffu, 0x7f7fffffu})
    all.push_back(bits);
  return all;
}

TEST(Rounding, IsToTheNearestHalfOnEveryTarget) {
  const std::vector<std::uint32_t> bits = telling_bits();
  std::vector<float> x;
  for (const std::uint32_t each : bits) x.push_back(float_of(each));
  std::vector<Bf16> y(x.size());
  on_every_target([&] {
    round_to_halves(static_cast<std::int64_t>(x.size()), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i].bits, nearest_half(bits[i])) << std::hex << bits[i];
  });
}

// By the definition, in double: multiples of the distance that halves have there.
double nearest_fp16(double x) {
  if (x == 0 || std::isinf(x)) return x;
  const double distance = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  const double nearest = std::nearbyint(x / distance) * distance;
  return std::abs(nearest) > 65504 ? std::copysign(std::numeric_limits<double>::infinity(), x) : nearest;
}

TEST(Rounding, IsToTheNearestHalfOfFp16OnEveryTarget) {
  std::vector<float> x;
  for (const std::uint32_t each : telling_bits()) x.push_back(float_of(each));
  for (std::uint32_t half = 0; half < 0x7c00u; ++half) {  // every tie between two halves, and beside it
    const float tie = (base::to_float(base::Fp16{static_cast<std::uint16_t>(half)}) + base::to_float(base::Fp16{static_cast<std::uint16_t>(half + 1)})) / 2;
    if (std::isfinite(tie)) x.insert(x.end(), {tie, -tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)});
  }
  std::vector<base::Fp16> y(x.size());
  on_every_target([&] {
    round_to_halves(static_cast<std::int64_t>(x.size()), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i].bits, base::to_fp16(x[i]).bits) << x[i];
      if (std::isnan(x[i])) {
        ASSERT_EQ(y[i].bits & 0x7fff, 0x7e00);
      } else {
        ASSERT_EQ(static_cast<double>(base::to_float(y[i])), nearest_fp16(static_cast<double>(x[i]))) << x[i];
        ASSERT_EQ(std::signbit(base::to_float(y[i])), std::signbit(x[i]));
      }
    }
  });
}

TEST(Rounding, WritesAsManyAsAreAskedFor) {
  const std::vector<float> x(40, 1.5f);
  for (std::int64_t count = 0; count < 36; ++count) {
    std::vector<Bf16> y(x.size(), Bf16{7});
    round_to_halves(count, x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i].bits, static_cast<std::int64_t>(i) < count ? 0x3fc0 : 7) << count;
  }
}

}  // namespace
}  // namespace troika::cpu
