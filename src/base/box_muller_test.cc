#include "base/box_muller.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace troika::base {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

// In units of float's spacing at `want`; half of one is what rounding costs.
double error_in_units(float got, long double want) {
  const float size = std::abs(static_cast<float>(want));
  const float unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / static_cast<long double>(unit));
}

TEST(BoxMuller, IsTheFormulaRoundedOnceToFloat) {
  const long double tau = 2 * std::acos(-1.0L);
  const Philox random(1, "words");
  double worst = 0;
  for (std::uint64_t i = 0; i < 300000; ++i) {
    const std::uint64_t a = random.bits(2 * i) >> (i % 40), b = random.bits(2 * i + 1);  // small u too
    const long double u = static_cast<long double>((a >> 11) + 1) * 0x1p-53L,
                      v = static_cast<long double>(b >> 11) * 0x1p-53L;
    const long double radius = std::sqrt(-2 * std::log(u));
    const NormalPair pair = box_muller(a, b);
    worst = std::max({worst, error_in_units(pair.cosine, radius * std::cos(tau * v)),
                      error_in_units(pair.sine, radius * std::sin(tau * v))});
  }
  EXPECT_LT(worst, 0.500001);
}

TEST(BoxMuller, IsFiniteAtTheEndsOfItsWords) {
  EXPECT_EQ(box_muller(all_bits, 0).cosine, 0);                                                     // u = 1
  EXPECT_FLOAT_EQ(box_muller(0, 0).cosine, static_cast<float>(std::sqrt(2 * 53 * std::log(2.0))));  // the largest
  EXPECT_EQ(box_muller(0, 0).sine, 0);
}

TEST(BoxMuller, IsExactAtWholeQuarterTurns) {
  const float radius = box_muller(0, 0).cosine;
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
    const NormalPair pair = box_muller(0, quarter << 62);
    EXPECT_EQ(pair.cosine, quarter == 0 ? radius : quarter == 2 ? -radius : 0) << quarter;
    EXPECT_EQ(pair.sine, quarter == 1 ? radius : quarter == 3 ? -radius : 0) << quarter;
  }
  EXPECT_NEAR(box_muller(0, all_bits).cosine, radius, 1e-6);  // all but one turn
}

}  // namespace
}  // namespace troika::base
