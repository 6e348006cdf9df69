#include "cuda/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace troika::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// From the bits by arithmetic: sign, exponent bits, fraction bits.
double exact_half(std::uint16_t bits, int fraction_bits, int bias) {
  const int fraction = bits & ((1 << fraction_bits) - 1), exponent = (bits & 0x7fff) >> fraction_bits;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                         : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

template <class T>
void expect_round_trip(int fraction_bits, int bias, std::uint16_t infinity_bits) {
  for (int i = 0; i < 65536; ++i) {
    const T half{static_cast<std::uint16_t>(i)};
    const float x = to_float(half);
    const int magnitude = i & 0x7fff;
    if (magnitude > infinity_bits) {
      ASSERT_TRUE(std::isnan(x)) << i;
      ASSERT_TRUE(std::isnan(to_float(rounded<T>(x)))) << i;
      continue;
    }
    if (magnitude == infinity_bits) {
      ASSERT_EQ(x, magnitude == i ? infinity : -infinity);
    } else {
      ASSERT_EQ(static_cast<double>(x), exact_half(half.bits, fraction_bits, bias)) << i;
    }
    ASSERT_EQ(std::signbit(x), i >> 15 != 0) << i;
    ASSERT_EQ(rounded<T>(x).bits, half.bits) << i;
  }
}

// Between each pair of neighbours: the middle goes to the even one, what is next to it to the nearer one.
template <class T>
void expect_nearest(std::uint16_t infinity_bits) {
  for (std::uint16_t low = 0; low + 1 < infinity_bits; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1), even = low % 2 == 0 ? low : high;
    const float middle =
        static_cast<float>((static_cast<double>(to_float(T{low})) + static_cast<double>(to_float(T{high}))) / 2);
    for (const std::uint16_t sign : {0, 0x8000}) {
      const float x = sign != 0 ? -middle : middle;
      ASSERT_EQ(rounded<T>(x).bits, even | sign) << low;
      ASSERT_EQ(rounded<T>(std::nextafter(x, 0.0f)).bits, low | sign) << low;
      ASSERT_EQ(rounded<T>(std::nextafter(x, 2 * x)).bits, high | sign) << low;
    }
  }
}

TEST(CudaNumber, EveryHalfComesBack) {
  expect_round_trip<Bf16>(7, 127, 0x7f80);
  expect_round_trip<Fp16>(10, 15, 0x7c00);
}

TEST(CudaNumber, RoundsToNearestAndTiesToEven) {
  expect_nearest<Bf16>(0x7f80);
  expect_nearest<Fp16>(0x7c00);
}

TEST(CudaNumber, WhatIsTooLargeBecomesInfinity) {
  EXPECT_EQ(rounded<Fp16>(65519.99609375f).bits, 0x7bff);
  EXPECT_EQ(rounded<Fp16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(rounded<Fp16>(-1e30f).bits, 0xfc00);
  EXPECT_EQ(rounded<Bf16>(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(rounded<Bf16>(-infinity).bits, 0xff80);
  EXPECT_EQ(rounded<Fp16>(infinity).bits, 0x7c00);
}

TEST(CudaNumber, WhatIsTooSmallBecomesZeroOfItsSign) {
  EXPECT_EQ(rounded<Fp16>(0x1p-25f).bits, 0);
  EXPECT_EQ(rounded<Fp16>(-0x1p-25f).bits, 0x8000);
  EXPECT_EQ(rounded<Fp16>(std::nextafter(0x1p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(rounded<Bf16>(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(CudaNumber, NanStaysNan) {
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(to_float(rounded<Bf16>(float_of(bits)))));
    EXPECT_TRUE(std::isnan(to_float(rounded<Fp16>(float_of(bits)))));
  }
}

TEST(CudaNumber, PacksAreWhatStandsInMemory) {
  alignas(32) const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const Pack<float, 8> pack = loaded<8>(x);
  static_assert(sizeof(Vector<float, 4>) == 16 && sizeof(Vector<Bf16, 8>) == 16 && alignof(Vector<Bf16, 8>) == 16);
  alignas(16) Bf16 halves[8];
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = pack[i];
  store(halves, values);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(to_float(halves[i]), x[i]);
}

}  // namespace
}  // namespace troika::cuda
