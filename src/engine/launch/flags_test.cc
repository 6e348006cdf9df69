#include "launch/flags.h"

#include <gmock/gmock.h>

namespace troika::launch {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ShareCores, GivesEveryRankNeighboursOfItsOwn) {
  const auto shares = share_cores({0, 1, 2, 3, 8, 9, 10, 11}, 8, 2, Bind::automatic);
  EXPECT_THAT(shares[0].cores, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(shares[1].cores, ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(shares[0].threads, 4);
}

TEST(ShareCores, GivesAllRanksAsManyThreadsAlsoWhereCoresAreLeft) {
  const auto shares = share_cores({0, 1, 2, 3, 4, 5, 6, 7}, 8, 3, Bind::automatic);
  EXPECT_THAT(shares[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(shares[1].cores, ElementsAre(2, 3, 4));
  EXPECT_THAT(shares[2].cores, ElementsAre(5, 6, 7));
  for (const Share& share : shares) EXPECT_EQ(share.threads, 2);
}

TEST(ShareCores, AQuotaLimitsTheThreads) {
  const auto shares = share_cores({0, 1, 2, 3, 4, 5, 6, 7}, 2, 2, Bind::automatic);
  EXPECT_THAT(shares[1].cores, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(shares[1].threads, 1);
}

TEST(ShareCores, BindsNobodyWhereThatMakesNoSense) {
  for (const auto& shares : {share_cores({0, 1}, 2, 3, Bind::automatic),
                             share_cores({0, 1, 2, 3}, 2, 3, Bind::automatic), share_cores({}, 8, 2, Bind::automatic),
                             share_cores({0, 1}, 2, 2, Bind::none), share_cores({0, 1}, 2, 1, Bind::automatic)}) {
    for (const Share& share : shares) EXPECT_THAT(share.cores, IsEmpty());
  }
  EXPECT_EQ(share_cores({0, 1}, 2, 3, Bind::automatic)[2].threads, 1);
  EXPECT_EQ(share_cores({0, 1}, 2, 1, Bind::automatic)[0].threads, 2);
}

TEST(ShareCores, NextToGpusGivesRanksTheCoresOfTheirGpu) {
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7}, even{0, 2, 4, 6}, odd{1, 3, 5, 7};
  const auto four = share_cores(all, 8, 4, Bind::automatic, {even, even, odd, odd});
  EXPECT_THAT(four[0].cores, ElementsAre(0, 2));
  EXPECT_THAT(four[1].cores, ElementsAre(4, 6));
  EXPECT_THAT(four[2].cores, ElementsAre(1, 3));
  EXPECT_THAT(four[3].cores, ElementsAre(5, 7));
  EXPECT_EQ(four[3].threads, 2);
  const auto one = share_cores(all, 8, 1, Bind::automatic, {odd});
  EXPECT_THAT(one[0].cores, ElementsAre(1, 3, 5, 7));
  EXPECT_EQ(one[0].threads, 4);
  EXPECT_THAT(share_cores({0, 1, 2, 3}, 4, 2, Bind::automatic, {even, odd})[1].cores, ElementsAre(1, 3));
}

TEST(ShareCores, NextToGpusIsLeftWhereItIsNotKnownNotAllowedOrTooFew) {
  const std::vector<int> all{0, 1, 2, 3};
  EXPECT_THAT(share_cores(all, 4, 2, Bind::automatic, {{2, 3}, {}})[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(share_cores(all, 4, 2, Bind::automatic, {{2, 3}, {8, 9}})[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(share_cores(all, 4, 2, Bind::automatic, {{3}, {3}})[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(share_cores(all, 4, 2, Bind::none, {{2, 3}, {0, 1}})[0].cores, IsEmpty());
  EXPECT_THAT(share_cores(all, 4, 1, Bind::automatic, {{}})[0].cores, IsEmpty());
}

std::map<std::string, std::string> variables(int usable, int ranks, int stated,
                                             std::map<std::string, std::string> environment = {}) {
  set_thread_variables({{}, std::max(1, usable / ranks)}, usable, ranks, stated, environment);
  return environment;
}

TEST(ThreadVariables, WaitingThreadsSleepWhereTheyAreMoreThanTheCores) {
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(variables(4, 2, 0), (Map{{"OMP_NUM_THREADS", "2"}}));
  EXPECT_EQ(variables(4, 2, 3), (Map{{"OMP_NUM_THREADS", "2"}, {"OMP_WAIT_POLICY", "passive"}}));
  EXPECT_EQ(variables(2, 3, 0), (Map{{"OMP_NUM_THREADS", "1"}, {"OMP_WAIT_POLICY", "passive"}}));
}

TEST(ThreadVariables, WhatTheUserHasSetStays) {
  const std::map<std::string, std::string> set = {{"OMP_NUM_THREADS", "7"}, {"OMP_WAIT_POLICY", "active"}};
  EXPECT_EQ(variables(2, 2, 7, set), set);
}

}  // namespace
}  // namespace troika::launch
