#include "launch/restart_pause.h"

#include <gtest/gtest.h>

namespace troika::launch {
namespace {

TEST(RestartPause, DoublesUpToAMinuteAndBeginsAnewAfterAnAttemptThatLasted) {
  RestartPause pause;
  for (const double expected : {1, 2, 4, 8, 16, 32, 60, 60}) EXPECT_EQ(pause.after(0.5), expected);
  EXPECT_EQ(pause.after(90), 1);
  EXPECT_EQ(pause.after(5), 2);
}

}  // namespace
}  // namespace troika::launch
