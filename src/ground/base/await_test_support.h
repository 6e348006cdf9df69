// For tests: waits for an action of another process or thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.h"

namespace troika::base {

// Whether `ready` became true within so many seconds.
inline bool await(double seconds, const std::function<bool()>& ready) {
  const double until = monotonic_seconds() + seconds;
  while (!ready()) {
    if (monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace troika::base
