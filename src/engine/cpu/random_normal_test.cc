#include "cpu/flat.h"

#include <gtest/gtest.h>

#include <vector>

#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

std::vector<float> drawn(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale = 1) {
  std::vector<float> x(static_cast<std::size_t>(count));
  random_normal(random, first, count, scale, x.data());
  return x;
}

std::vector<float> one_by_one(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale = 1) {
  std::vector<float> x(static_cast<std::size_t>(count));
  random.fill_normal(first, count, x.data());
  for (float& value : x) value *= scale;
  return x;
}

TEST(RandomNormal, GivesTenMillionNumbersOfTheStreamWithTheirBits) {
  const base::Philox random(7, "model.embed_tokens.weight");
  constexpr std::int64_t piece = 1 << 18;
  for (std::uint64_t first = 0; first < 10000000; first += piece) {
    ASSERT_EQ(drawn(random, first, piece), one_by_one(random, first, piece)) << first;
  }
}

TEST(RandomNormal, GivesTheSameBitsOnEveryTarget) {
  const base::Philox random(8, "weight");
  const std::vector<float> want = one_by_one(random, 1, 100001);
  on_every_target([&] { EXPECT_EQ(drawn(random, 1, 100001), want); });
}

TEST(RandomNormal, BeginsAndEndsAnywhere) {
  const base::Philox random(9, "weight");
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{6}, std::uint64_t{1001},
                                    (std::uint64_t{1} << 33) - 5, (std::uint64_t{1} << 60) + 3}) {
    for (std::int64_t count = 0; count < 70; ++count) {
      ASSERT_EQ(drawn(random, first, count), one_by_one(random, first, count)) << first << ", " << count;
    }
  }
}

TEST(RandomNormal, MultipliesEachNumberByTheScale) {
  const base::Philox random(10, "weight");
  EXPECT_EQ(drawn(random, 3, 1001, 0.02f), one_by_one(random, 3, 1001, 0.02f));
}

TEST(RandomNormal, WritesNothingBesideItsNumbers) {
  std::vector<float> x(103, 42.0f);
  random_normal(base::Philox(1, "x"), 5, 101, 1, x.data() + 1);
  EXPECT_EQ(x.front(), 42.0f);
  EXPECT_EQ(x.back(), 42.0f);
}

}  // namespace
}  // namespace troika::cpu
