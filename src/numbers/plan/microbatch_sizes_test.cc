#include "plan/microbatch_sizes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace troika::plan {
namespace {
using testing::Each;
using testing::ElementsAre;

schedule::ProgramShape shape_of(int dp, int microbatches, std::vector<int> shares = {}) {
  schedule::ProgramShape shape;
  shape.dp = dp;
  shape.microbatches = microbatches;
  shape.shares = std::move(shares);
  return shape;
}

// Log-normal lengths, as those of conversations are, as costs of sequences of the model.
std::vector<double> drawn_costs(int count, std::uint64_t seed) {
  const base::Philox random(seed, "lengths");
  std::vector<double> costs;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(2 * i);
    const double normal = std::sqrt(-2 * std::log(1 - random.uniform(at))) * std::cos(2 * M_PI * random.uniform(at + 1));
    const double length = std::clamp(std::floor(180 * std::exp(normal)), 8.0, 2048.0);
    costs.push_back(length * 1e8 + length * length * 2e4);
  }
  return costs;
}

std::vector<double> loads(const schedule::ProgramShape& shape, const std::vector<double>& costs) {
  const std::vector<int> reads = distribute(shape, costs);
  std::vector<double> loads;
  std::size_t place = 0;
  for (int rank = 0; rank < shape.dp; ++rank) {
    const int room = shape.shares.empty() ? shape.microbatches / shape.dp : shape.shares[static_cast<std::size_t>(rank)];
    loads.push_back(0);
    for (int i = 0; i < room; ++i, ++place)
      if (reads[place] != no_microbatch) loads.back() += costs[static_cast<std::size_t>(reads[place])];
  }
  return loads;
}

TEST(Distribute, EqualMicrobatchesKeepTheirOrder) {
  EXPECT_THAT(distribute(shape_of(2, 4), {7, 7, 7, 7}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(distribute(shape_of(2, 4, {3, 1}), {7, 7, 7, 7}), ElementsAre(0, 1, 2, 3));
}

TEST(Distribute, EveryMicrobatchHasOnePlaceAndPlacesLeftHaveNone) {
  for (int dp = 1; dp <= 9; ++dp) {
    for (int count = 1; count <= 4 * dp; ++count) {
      const schedule::ProgramShape shape = shape_of(dp, 4 * dp);
      std::vector<int> reads = distribute(shape, drawn_costs(count, static_cast<std::uint64_t>(dp)));
      ASSERT_EQ(reads.size(), static_cast<std::size_t>(4 * dp));
      std::sort(reads.begin(), reads.end());
      std::vector<int> expected(reads.size(), no_microbatch);
      std::iota(expected.end() - count, expected.end(), 0);
      ASSERT_EQ(reads, expected) << dp << " ranks, " << count;
    }
  }
}

TEST(Distribute, ARankHasAbsentOnesFirstAndThenItsLongest) {
  EXPECT_THAT(distribute(shape_of(2, 6), {1, 9, 4, 5, 1}), ElementsAre(no_microbatch, 1, 0, 3, 2, 4));
}

TEST(Distribute, ASampleAsLongAsAllOthersHasARankToItself) {
  EXPECT_THAT(distribute(shape_of(2, 8), {1, 1, 4, 1, 1}), ElementsAre(no_microbatch, no_microbatch, no_microbatch, 2, 0, 1, 3, 4));
}

TEST(Distribute, ThousandsOfMicrobatchesAreEven) {
  const std::vector<double> costs = drawn_costs(20000, 5), found = loads(shape_of(7, 2 * 20006), costs);
  EXPECT_NEAR(*std::max_element(found.begin(), found.end()) / *std::min_element(found.begin(), found.end()), 1, 1e-3);
}

TEST(Distribute, MoreThanTheProgramHasRoomForAreRefused) {
  EXPECT_THROW(distribute(shape_of(2, 4), {1, 2, 3, 4, 5}), base::BugError);
}

TEST(Distribute, FasterRanksGetMore) {
  const schedule::ProgramShape shape = shape_of(2, 64, {48, 16});
  const std::vector<double> found = loads(shape, drawn_costs(64, 3));
  EXPECT_NEAR(found[0] / found[1], 3, 0.03);
}

TEST(Distribute, LoadsOfDrawnConversationsAreEvenAsFarAsTheLongestAllows) {
  for (const int dp : {2, 3, 8}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const int count = 64;
      const std::vector<double> costs = drawn_costs(count, seed), found = loads(shape_of(dp, 2 * ((count - 1) / dp + 1) * dp), costs);
      const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / dp;
      const double forced = std::max(mean, *std::max_element(costs.begin(), costs.end()));
      EXPECT_LE(*std::max_element(found.begin(), found.end()), 1.05 * forced) << dp << " ranks, seed " << seed;
    }
  }
}

TEST(PositionCosts, CountProductsAndPairs) {
  config::ModelSettings model;
  model.layers = 2;
  model.hidden = 64;
  model.heads = model.kv_heads = 2;
  model.head_dim = 32;
  model.ffn = 128;
  model.vocab = 256;
  const PositionCosts costs = position_costs(model);
  EXPECT_EQ(costs.pair, 2 * 64);
  EXPECT_EQ(costs.of({{3, 0, 0}, {1, 1, 0}}), 4 * costs.position + 10 * costs.pair);
}

TEST(PositionCosts, CountAWindowOnlyWhereASequenceIsLonger) {
  config::ModelSettings model;
  model.layers = 4;
  const PositionCosts full = position_costs(model);
  model.layer_types = "fw";
  model.sliding_window = 10;
  const PositionCosts costs = position_costs(model);
  EXPECT_EQ(costs.pair, full.pair / 2);
  EXPECT_EQ(costs.pair_in_window, full.pair / 2);
  EXPECT_EQ(costs.of({{10, 0, 0}}), full.of({{10, 0, 0}}));
  EXPECT_EQ(costs.of({{40, 0, 0}}), 40 * costs.position + 1600 * costs.pair + (2 * 10 * 40 - 100) * costs.pair_in_window);
}

}  // namespace
}  // namespace troika::plan
