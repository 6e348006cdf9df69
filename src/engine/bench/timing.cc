#include "bench/timing.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"

namespace troika::bench {

double median_seconds(const std::function<void()>& work, double seconds) {
  work();
  std::vector<double> times;
  const double until = base::monotonic_seconds() + seconds;
  for (double begin = base::monotonic_seconds(); times.empty() || begin < until;) {
    work();
    const double end = base::monotonic_seconds();
    times.push_back(end - begin);
    begin = end;
  }
  return base::median(std::move(times));
}

// Field 22 of the line; the second field, the program's name, may hold spaces and ends with the last parenthesis.
double seconds_since_process_start() {
  const std::string line = base::read_file("/proc/self/stat");
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double started = std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started;
}

}  // namespace troika::bench
