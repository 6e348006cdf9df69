#include "plan/stages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace troika::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <class Error, class Do>
std::string refusal_of(Do action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

double costliest(const std::vector<double>& cost, const Ranges& ranges) {
  double most = 0;
  for (const auto& [begin, end] : ranges)
    most = std::max(most, std::accumulate(cost.begin() + begin, cost.begin() + end, 0.0));
  return most;
}

// Tries every cut; each stage needs a block when there are enough blocks.
double brute_force(const std::vector<double>& cost, int stages) {
  const int n = static_cast<int>(cost.size());
  const bool blocks_needed = n - 2 >= stages;
  double best = 1e300;
  for (int mask = 0; mask < 1 << (n - 1); ++mask) {
    Ranges ranges;
    int begin = 0;
    for (int i = 1; i <= n; ++i) {
      if (i < n && (mask >> (i - 1) & 1) == 0) continue;
      ranges.emplace_back(begin, i);
      begin = i;
    }
    const bool blocks = std::all_of(ranges.begin(), ranges.end(),
                                    [&](auto r) { return std::max(r.first, 1) < std::min(r.second, n - 1); });
    if (static_cast<int>(ranges.size()) == stages && (blocks || !blocks_needed))
      best = std::min(best, costliest(cost, ranges));
  }
  return best;
}

TEST(Partition, OneStageHoldsEverything) { EXPECT_THAT(partition_by_cost({1, 2, 3}, 1), ElementsAre(Pair(0, 3))); }

TEST(Partition, HeavyHeadGetsFewerBlocks) {
  EXPECT_THAT(partition_by_cost({0, 1, 1, 1, 1, 1, 1, 2}, 2), ElementsAre(Pair(0, 5), Pair(5, 8)));
  EXPECT_THAT(partition_by_cost({0, 1, 1, 1, 1, 5}, 2), ElementsAre(Pair(0, 4), Pair(4, 6)));
}

TEST(Partition, AmongEqualMaximaTheMostEvenCutWithShorterEarlierStages) {
  EXPECT_THAT(partition_by_cost({0, 1, 1, 1, 1, 1, 1, 1, 0}, 3), ElementsAre(Pair(0, 3), Pair(3, 5), Pair(5, 9)));
  EXPECT_THAT(partition_by_cost({0, 0.1, 0.1, 0.1, 0}, 2), ElementsAre(Pair(0, 2), Pair(2, 5)));
}

TEST(Partition, EveryStageHasABlockWhenThereAreEnough) {
  EXPECT_THAT(partition_by_cost({100, 1, 1, 1, 100}, 3), ElementsAre(Pair(0, 2), Pair(2, 3), Pair(3, 5)));
  EXPECT_THAT(partition_by_cost({1, 1, 1, 1}, 3), ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 4)));
}

TEST(Partition, IsTheBestOfAllCuts) {
  const base::Philox random(3, "partition");
  std::uint64_t draw = 0;
  for (int n = 3; n <= 10; ++n) {
    for (int stages = 1; stages <= n; ++stages) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        std::vector<double> cost;
        for (int i = 0; i < n; ++i) cost.push_back(repeat == 0 ? 1 : random.uniform(draw++));
        const Ranges ranges = partition_by_cost(cost, stages);
        EXPECT_NEAR(costliest(cost, ranges), brute_force(cost, stages), 1e-12);
        EXPECT_EQ(static_cast<int>(ranges.size()), stages);
        EXPECT_EQ(ranges.front().first, 0);
        EXPECT_EQ(ranges.back().second, n);
        for (std::size_t s = 1; s < ranges.size(); ++s) EXPECT_EQ(ranges[s].first, ranges[s - 1].second);
      }
    }
  }
}

TEST(Partition, FreeSegmentsAndManyLayersAreCutToo) {
  EXPECT_EQ(partition_by_cost({0, 0, 0, 0}, 2).size(), 2U);
  EXPECT_EQ(partition_by_cost(std::vector<double>(202, 1.0), 16).size(), 16U);
}

TEST(Partition, MoreStagesThanSegmentsAreRefused) {
  EXPECT_THAT(refusal_of<base::ConfigError>([] {
                partition_by_cost({1, 1, 1, 1}, 5);
              }),
              HasSubstr("a model of 2 transformer layers cannot be split into 5 pipeline stages; choose pp from 1 to 2"));
  EXPECT_THROW(partition_by_cost({1, -1, 1}, 1), base::BugError);
}

TEST(Partition, ByLayersGivesEmbeddingToTheFirstAndHeadToTheLast) {
  EXPECT_THAT(partition_by_layers({2, 3, 1}, 6), ElementsAre(Pair(0, 3), Pair(3, 6), Pair(6, 8)));
  EXPECT_THAT(partition_by_layers({4}, 4), ElementsAre(Pair(0, 6)));
  EXPECT_THAT(partition_by_layers({0, 4}, 4), ElementsAre(Pair(0, 1), Pair(1, 6)));
}

TEST(Partition, ByLayersRefusesWrongSumsAndEmptyStages) {
  EXPECT_THAT(refusal_of<base::ConfigError>([] {
                partition_by_layers({2, 3}, 6);
              }),
              HasSubstr("add up to 5, but the model has 6"));
  EXPECT_THAT(refusal_of<base::ConfigError>([] {
                partition_by_layers({3, 0, 3}, 6);
              }),
              HasSubstr("stage 1 would be empty"));
  EXPECT_THAT(refusal_of<base::ConfigError>([] { partition_by_layers({7, -1}, 6); }), HasSubstr("stage 1 is given -1"));
}

}  // namespace
}  // namespace troika::plan
