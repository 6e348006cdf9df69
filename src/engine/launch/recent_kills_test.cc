#include "launch/recent_kills.h"

#include <gtest/gtest.h>

namespace troika::launch {
namespace {

TEST(RecentKills, CountOnlyWhatRoseShortlyBefore) {
  RecentKills kills;
  EXPECT_EQ(kills.risen(), -1);
  kills.note(0, 3);
  EXPECT_EQ(kills.risen(), 0);
  kills.note(10, 5);
  EXPECT_EQ(kills.risen(), 2);
  for (double now = 11; now < 60; ++now) kills.note(now, 5);
  EXPECT_EQ(kills.risen(), 0);
  kills.note(60, 6);
  EXPECT_EQ(kills.risen(), 1);
}

TEST(RecentKills, AKillIsSeenAfterALauncherThatStoodForLongTheHostSwapping) {
  RecentKills kills;
  kills.note(0, 3);
  kills.note(1, 3);
  kills.note(200, 4);
  EXPECT_EQ(kills.risen(), 1);
}

TEST(RecentKills, AHostThatDoesNotCountTellsNothing) {
  RecentKills kills;
  kills.note(0, -1);
  kills.note(1, -1);
  EXPECT_EQ(kills.risen(), -1);
}

}  // namespace
}  // namespace troika::launch
