#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/error.h"

namespace troika::base {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known-answer vectors that the authors publish with the generator ("kat_vectors", philox4x32 with 10 rounds).
TEST(Philox4x32, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsAFunctionOfSeedNameAndIndexAlone) {
  const Philox a(7, "model.norm.weight"), again(7, "model.norm.weight");
  const Philox other_seed(8, "model.norm.weight"), other_name(7, "model.norm.weights");
  EXPECT_EQ(a.block(123), again.block(123));
  EXPECT_NE(a.block(123), a.block(124));
  EXPECT_NE(a.block(123), other_seed.block(123));
  EXPECT_NE(a.block(123), other_name.block(123));
  EXPECT_NE(a.block(1), a.block(std::uint64_t{1} << 32));
}

TEST(Philox, KeepsItsStreamAcrossReleases) {  // a change here changes every run that users have seeds for
  const Philox random(1234, "model.embed_tokens.weight");
  EXPECT_EQ(random.bits(0), 10425919660475351228U);
  EXPECT_EQ(random.bits(std::uint64_t{1} << 40), 10125008931215372916U);
}

TEST(Philox, UniformsFillTheUnitIntervalEvenly) {
  const Philox random(3, "uniform");
  constexpr int count = 200000;
  double sum = 0, squares = 0;
  std::vector<int> bins(10);
  for (std::uint64_t i = 0; i < count; ++i) {
    const double u = random.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
    ++bins[static_cast<std::size_t>(u * 10)];
  }
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / count));
  for (const int bin : bins) EXPECT_NEAR(bin, count / 10.0, 5 * std::sqrt(count * 0.09));
}

TEST(FillNormal, HasTheMomentsOfAStandardNormal) {
  constexpr int count = 1000000;
  std::vector<float> x(count);
  Philox(5, "normal").fill_normal(0, count, x.data());
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, neighbours = 0;
  int beyond_two = 0;
  for (int i = 0; i < count; ++i) {
    const double v = x[static_cast<std::size_t>(i)];
    ASSERT_TRUE(std::isfinite(v));
    m1 += v;
    m2 += v * v;
    m3 += v * v * v;
    m4 += v * v * v * v;
    beyond_two += std::abs(v) > 2 ? 1 : 0;
    if (i % 2 == 1) neighbours += v * x[static_cast<std::size_t>(i - 1)];
  }
  const double five_sigma = 5 / std::sqrt(double{count});
  EXPECT_NEAR(m1 / count, 0.0, five_sigma);
  EXPECT_NEAR(m2 / count, 1.0, five_sigma * std::sqrt(2.0));
  EXPECT_NEAR(m3 / count, 0.0, five_sigma * std::sqrt(15.0));
  EXPECT_NEAR(m4 / count, 3.0, five_sigma * std::sqrt(96.0));
  EXPECT_NEAR(beyond_two / double{count}, 0.0455003, five_sigma * std::sqrt(0.0455 * 0.9545));
  EXPECT_NEAR(neighbours / (count / 2), 0.0, five_sigma * std::sqrt(2.0));
}

TEST(FillNormal, KeepsItsNumbersAcrossReleases) {  // as the stream above
  float x[4];
  Philox(1234, "model.embed_tokens.weight").fill_normal(6, 4, x);
  EXPECT_EQ(x[0], 0x1.ce1a94p-2f);
  EXPECT_EQ(x[1], 0x1.ba309cp-1f);
  EXPECT_EQ(x[2], 0x1.a44d84p+0f);
  EXPECT_EQ(x[3], -0x1.98bff4p-1f);
}

TEST(FillNormal, GivesTheSameBitsInAnyChunking) {
  const Philox random(11, "chunks");
  constexpr std::int64_t count = 1000;
  std::vector<float> whole(count);
  random.fill_normal(0, count, whole.data());
  for (const std::int64_t chunk : {1, 2, 3, 7, 64, 999}) {
    std::vector<float> pieces(count);
    for (std::int64_t begin = 0; begin < count; begin += chunk) {
      random.fill_normal(static_cast<std::uint64_t>(begin), std::min(chunk, count - begin), pieces.data() + begin);
    }
    EXPECT_EQ(pieces, whole) << "chunks of " << chunk;
  }
}

TEST(FillNormal, WritesNothingForZeroNumbers) {
  float untouched = 42;
  Philox(1, "x").fill_normal(3, 0, &untouched);
  EXPECT_EQ(untouched, 42);
}

TEST(Permute, IsAPermutationForEverySize) {
  std::vector<std::uint64_t> sizes{1000, 1023, 1024, 1025, 4095, 4097, 65537};
  for (std::uint64_t size = 1; size <= 130; ++size) sizes.push_back(size);
  for (const std::uint64_t size : sizes) {
    std::vector<bool> seen(size);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t p = permute(i, size, 99);
      ASSERT_LT(p, size);
      ASSERT_FALSE(seen[p]) << "index " << i << " of " << size;
      seen[p] = true;
    }
  }
}

TEST(Permute, IsInvertibleNearTheLargestSizes) {
  for (const std::uint64_t size : {std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    std::set<std::uint64_t> values;
    for (std::uint64_t i = 0; i < 1000; ++i) values.insert(permute(size - 1 - i, size, 3));
    EXPECT_EQ(values.size(), 1000U) << size;
    EXPECT_LT(*values.rbegin(), size);
  }
}

// Every index lands everywhere equally often over the seeds: chi-squared over all (index, value) pairs.
TEST(Permute, FavoursNoPlace) {
  for (const std::uint64_t size : {2, 3, 5, 12, 37}) {
    constexpr int seeds = 4000;
    std::vector<int> hits(size * size);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      for (std::uint64_t i = 0; i < size; ++i) ++hits[i * size + permute(i, size, seed)];
    }
    const double expected = static_cast<double>(seeds) / static_cast<double>(size);
    double chi_squared = 0;
    for (const int hit : hits) chi_squared += (hit - expected) * (hit - expected) / expected;
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    // Scaled so that the mean is (size - 1)^2; six standard deviations, never less than 25 for the long tail of few.
    EXPECT_LT(chi_squared * (1.0 - 1.0 / static_cast<double>(size)),
              freedom + std::max(25.0, 6 * std::sqrt(2 * freedom)))
        << size;
  }
}

TEST(Permute, DiffersBetweenSeeds) {
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) equal += permute(i, 1000, 1) == permute(i, 1000, 2) ? 1 : 0;
  EXPECT_LT(equal, 10);
}

TEST(Permute, RefusesAnIndexBeyondTheSize) {
  EXPECT_THROW(permute(5, 5, 1), BugError);
  EXPECT_THROW(permute(0, 0, 1), BugError);
}

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
