// Starts threads. If the system grants no more, the error names the limit and how to raise it.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/language.h"

namespace troika::host {

// std::thread, but a system that grants none is a ConfigError with the sentence of no_more_threads().
template <class Function>
std::thread start_thread(Function&& function);

// ConfigError unless the system grants so many threads at once, beside those that run. They end before it returns.
void require_threads(int count);

// Whether an exception says that the system grants no further thread.
bool is_thread_limit(const std::exception& error);

// Why, as far as limits tell: the control group's, of addresses, the user's, or another.
base::Text no_more_threads();

struct ThreadLimits {
  std::int64_t address_bytes = -1, processes = -1;  // of this process and of its user; -1: there is no limit
  std::int64_t used_address_bytes = 0;
};
// The same for tests: `proc` in place of /proc, `cgroup` in place of /sys/fs/cgroup.
base::Text no_more_threads_in(const std::string& proc, const std::string& cgroup, const ThreadLimits& limits);

// The limit of a process's addresses (ulimit -v), and what is taken of it; "" where there is none.
base::Text address_limit_text();

template <class Function>
std::thread start_thread(Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    if (!is_thread_limit(error)) throw;
    throw base::ConfigError(no_more_threads());
  }
}

}  // namespace troika::host
