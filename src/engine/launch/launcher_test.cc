#include "launch/launcher.h"

#include <gtest/gtest.h>

namespace troika::launch {
namespace {

TEST(RestartPause, DoublesUpToAMinuteAndBeginsAnewAfterAnAttemptThatLasted) {
  RestartPause pause;
  for (const double expected : {1, 2, 4, 8, 16, 32, 60, 60}) EXPECT_EQ(pause.after(0.5), expected);
  EXPECT_EQ(pause.after(90), 1);
  EXPECT_EQ(pause.after(5), 2);
}

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
