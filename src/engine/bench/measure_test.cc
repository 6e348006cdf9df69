#include "bench/measure.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace troika::bench {
namespace {

constexpr double rounding = 1e-6;

TEST(Timing, WorkRunsOnceToWarmUpAndAtLeastOnceMore) {
  int runs = 0;
  EXPECT_GE(median_seconds([&] { ++runs; }, 0), 0);
  EXPECT_EQ(runs, 2);
}

TEST(Timing, TheAgeOfTheProcessGrowsWithTheClock) {
  const double outer = base::monotonic_seconds(), before = seconds_since_process_start();
  const double inner = base::monotonic_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const double slept = base::monotonic_seconds() - inner, after = seconds_since_process_start();
  EXPECT_GT(before, 0);
  EXPECT_GE(after - before, slept - rounding);
  EXPECT_LE(after - before, base::monotonic_seconds() - outer + rounding);
}

}  // namespace
}  // namespace troika::bench
