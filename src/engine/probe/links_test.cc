#include "probe/links.h"

#include <gtest/gtest.h>

#include <set>

namespace troika::probe {
namespace {

TEST(Tournament, BringsEveryTwoTogetherOnceAndNobodyTwiceInARound) {
  for (int players = 0; players <= 17; ++players) {
    std::set<Pair> met;
    for (const auto& round : tournament(players)) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, players);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << players;
        EXPECT_TRUE(met.insert({a, b}).second) << players;
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(players * (players - 1) / 2)) << players;
  }
}

TEST(Tournament, TakesNoMoreRoundsThanItMust) {
  EXPECT_EQ(tournament(1).size(), 0u);
  EXPECT_EQ(tournament(2).size(), 1u);
  EXPECT_EQ(tournament(3).size(), 3u);
  EXPECT_EQ(tournament(8).size(), 7u);
}

}  // namespace
}  // namespace troika::probe
