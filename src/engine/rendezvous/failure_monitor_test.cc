#include "rendezvous/failure_monitor.h"

#include <gtest/gtest.h>

namespace troika::rendezvous {
namespace {

TEST(LauncherSilence, NamesALauncherOnceWhenItFallsSilentAndOnceWhenItIsHeardAgain) {
  LauncherSilence silence(10);
  silence.heard(1, 0);
  silence.heard(2, 0);
  for (double now = 1; now <= 10; ++now) {
    silence.heard(2, now);
    EXPECT_TRUE(silence.changes(now).empty()) << now;
  }
  const auto changes = silence.changes(11);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].node, 1);
  EXPECT_TRUE(changes[0].silent);
  EXPECT_TRUE(silence.changes(12).empty());
  silence.heard(1, 13);
  const auto again = silence.changes(13);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_FALSE(again[0].silent);
  EXPECT_EQ(again[0].seconds, 13);
}

TEST(LauncherSilence, TakesAPauseOfItsOwnForNobodysSilence) {
  LauncherSilence silence(10);
  silence.heard(1, 0);
  EXPECT_TRUE(silence.changes(1).empty());
  EXPECT_TRUE(silence.changes(100).empty());
  EXPECT_TRUE(silence.changes(105).empty());
}

TEST(LauncherSilence, ALauncherThatHasEndedIsNotMissed) {
  LauncherSilence silence(1);
  silence.heard(1, 0);
  EXPECT_TRUE(silence.changes(0.4).empty());
  silence.ended(1);
  for (double now = 0.8; now < 4; now += 0.4) EXPECT_TRUE(silence.changes(now).empty());
}

}  // namespace
}  // namespace troika::rendezvous
