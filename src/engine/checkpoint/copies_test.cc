#include "checkpoint/copies.h"

#include <gtest/gtest.h>

namespace troika::checkpoint {
namespace {

using By = SecondCopy::By;

TEST(Copies, OfRanksWithoutTwinsAreSentToTheNextDiskItsRanksInTurn) {
  const Disks disks{{0, 0, 2, 2, 4}};
  const Copies copies = plan_copies(disks, {0, 1, 2, 3, 4});
  ASSERT_EQ(copies.of.size(), 5U);
  const int receivers[] = {2, 3, 4, 4, 0};
  for (std::size_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(copies.of[rank].by, By::sending);
    EXPECT_EQ(copies.of[rank].rank, receivers[rank]);
    EXPECT_NE(disks.leader[static_cast<std::size_t>(copies.of[rank].rank)], disks.leader[rank]);
  }
}

TEST(Copies, AreWrittenByTheFirstTwinOnAnotherDisk) {
  const Copies copies = plan_copies({{0, 0, 2, 3}}, {0, 0, 0, 0});
  EXPECT_EQ(copies.of[0].by, By::writing);
  EXPECT_EQ(copies.of[0].rank, 2);
  EXPECT_EQ(copies.written_by(2), 0);
  for (const int rank : {0, 1, 3}) EXPECT_EQ(copies.written_by(rank), -1);
  for (const std::size_t rank : {1U, 2U, 3U}) EXPECT_EQ(copies.of[rank].by, By::nobody) << "it writes nothing itself";
}

TEST(Copies, OfTwinsOnOneDiskAreSent) {
  const Copies copies = plan_copies({{0, 0, 2, 2}}, {0, 0, 2, 2});
  EXPECT_EQ(copies.of[0].by, By::sending);
  EXPECT_EQ(copies.of[2].by, By::sending);
}

TEST(Copies, OnOneDiskThereAreNone) { EXPECT_FALSE(plan_copies({{0, 0, 0}}, {0, 1, 2}).any()); }

}  // namespace
}  // namespace troika::checkpoint
