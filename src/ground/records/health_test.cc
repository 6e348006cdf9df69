#include "records/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/place.h"

namespace troika::records {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Health, AChainEndsAtTheRankThatDoesNotWait) {
  const Chain chain = chain_from(0, {{0, 2}, {1, waits_for_nobody}, {2, 1}});
  EXPECT_TRUE(chain.known);
  EXPECT_THAT(chain.ranks, ElementsAre(2, 1));
  EXPECT_THAT(chain.circle, IsEmpty());
}

TEST(Health, AChainIntoACircleNamesTheRanksOfTheCircleAlone) {
  const Waiting waiting = {{0, 1}, {1, 2}, {2, 1}};
  EXPECT_THAT(chain_from(0, waiting).ranks, ElementsAre(1, 2, 1));
  EXPECT_THAT(chain_from(0, waiting).circle, ElementsAre(2, 1));
  EXPECT_THAT(chain_from(1, waiting).circle, ElementsAre(2, 1));
  EXPECT_THAT(chain_from(3, {{3, 3}}).circle, ElementsAre(3));
}

TEST(Health, AChainIsNotKnownWhereARankDoesNotKnowWhomItWaitsFor) {
  EXPECT_FALSE(chain_from(0, {{0, 1}, {1, waits_for_others}}).known);
  EXPECT_FALSE(chain_from(0, {{0, 5}}).known);
}

TEST(Health, ARankIsComparedWithTheOthersOfItsKindAndElseWithAll) {
  const auto all = slowness_of({{0, {2, 1, 0}}, {1, {1, 1, 0}}, {2, {9, 3, 1}}, {3, {0, 1, 0}}});
  EXPECT_EQ(all.count(3), 0u);
  EXPECT_DOUBLE_EQ(all.at(0).ratio, 2);
  EXPECT_TRUE(all.at(0).alike);
  EXPECT_FALSE(all.at(2).alike);
  EXPECT_DOUBLE_EQ(all.at(2).reference_seconds, 6);
  EXPECT_THAT(slowness_of({{0, {2, 1, 0}}}), IsEmpty());
}

TEST(Health, ValuesThatAHostDoesNotTellAreNoLack) {
  EXPECT_FALSE(is_short_of_memory(-1, 100));
  EXPECT_FALSE(is_short_of_memory(0, -1));
  EXPECT_TRUE(is_short_of_memory(4, 100));
  EXPECT_FALSE(is_short_of_memory(5, 100));
}

}  // namespace
}  // namespace troika::records
