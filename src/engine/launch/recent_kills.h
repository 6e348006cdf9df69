// Whether the system's out-of-memory killer has acted lately. A process that it kills ends within seconds; what it did long before has
// nothing to do with a signal of today.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace troika::launch {

// Threads: one. Times are base::monotonic_seconds().
class RecentKills {
 public:
  static constexpr double window_seconds = 30;  // a process with much memory, on a host that swaps, takes long to end

  // `count`: as host::memory_kills().
  void note(double now, std::int64_t count) {
    if (count < 0) return;
    while (counts_.size() > 1 && counts_[1].first <= now - window_seconds) counts_.pop_front();
    counts_.emplace_back(now, count);
  }
  // How often it acted in the window before the last note, or since the last note before that; -1: nobody counts here.
  std::int64_t risen() const { return counts_.empty() ? -1 : counts_.back().second - counts_.front().second; }

 private:
  std::deque<std::pair<double, std::int64_t>> counts_;  // the first is the last one that is older than the window
};

}  // namespace troika::launch
