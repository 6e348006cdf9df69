#include "commands/bench/timing.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace troika::commands {
namespace {

TEST(Timing, WorkRunsOnceToWarmUpAndAtLeastOnceMore) {
  int runs = 0;
  EXPECT_GE(median_seconds([&] { ++runs; }, 0), 0);
  EXPECT_EQ(runs, 2);
}

TEST(Timing, TheAgeOfTheProcessGrowsWithTheClock) {
  const double before = seconds_since_process_start(), begin = base::monotonic_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_GT(before, 0);
  EXPECT_NEAR(seconds_since_process_start() - before, base::monotonic_seconds() - begin, 0.02);
}

}  // namespace
}  // namespace troika::commands
