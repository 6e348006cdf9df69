// How long a launcher waits before it starts all ranks again.
#pragma once

#include <algorithm>

namespace troika::launch {

// 1 s after the first failure, then twice as long each time, up to a minute; an attempt that lasted a minute counts as a new
// beginning.
class RestartPause {
 public:
  double after(double attempt_seconds) {
    if (attempt_seconds >= longest_seconds) next_ = 1;
    const double now = next_;
    next_ = std::min(2 * next_, longest_seconds);
    return now;
  }

 private:
  static constexpr double longest_seconds = 60;
  double next_ = 1;  // seconds
};

}  // namespace troika::launch
