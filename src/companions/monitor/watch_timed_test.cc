#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "monitor/made_run_test_support.h"
#include "monitor/screen.h"

namespace troika::monitor {
namespace {

double seconds_of(const std::function<void()>& work) {
  const double before = base::monotonic_seconds();
  work();
  return base::monotonic_seconds() - before;
}

// On a core of 2.x GHz 0.5 s and 0.6 ms; the limits are for slow and busy machines.
TEST(FullMonitorTimed, ALongRunIsReadOnceAndThenOnlyWhatIsNew) {
  MadeRun run(4, 2);
  run.write_state();
  run.write_steps(1, 100'000);
  run.write_samples(1000);
  RunWatch watch(run.path());
  const double first = seconds_of([&] { watch.look(MadeRun::began + 1000); });
  std::vector<double> later;
  for (std::int64_t step = 100'001; step <= 100'021; ++step) {
    run.write_steps(step, step);
    later.push_back(seconds_of([&] { screen_of(watch.look(MadeRun::began + 1000), Frame{}); }));
  }
  std::sort(later.begin(), later.end());
  RecordProperty("first_seconds", std::to_string(first));
  RecordProperty("later_seconds", std::to_string(later[later.size() / 2]));
  std::printf("first look %.3f s, later ones %.2f ms\n", first, 1000 * later[later.size() / 2]);
  EXPECT_LT(first, 3);
  EXPECT_LT(later[later.size() / 2], 0.03);
}

}  // namespace
}  // namespace troika::monitor
