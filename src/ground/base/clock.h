// Time for measuring and for stamps.
#pragma once

#include <chrono>

namespace troika::base {

inline double monotonic_seconds() {  // for differences within one host; unaffected by clock changes
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double wall_seconds() {  // since 1970; differs between hosts
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace troika::base
