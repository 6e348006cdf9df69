// Whom a rank waits for just now: marked by its thread where it waits, read by its heartbeat.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace troika::comm {

// Any thread reads. No allocation, two stores and a look at the clock for each change.
class WaitMark {
 public:
  // The marking thread: the maker of the mark alone, because what others wait for holds up nobody; or any, one at a time.
  enum class Of { this_thread, any_thread };
  explicit WaitMark(Of of) : owner_(of == Of::this_thread ? std::this_thread::get_id() : std::thread::id()) {}

  static constexpr int nobody = -2;
  static constexpr int others = -1;  // one or several, unknown which

  // While one exists the rank waits for `peer`, a world rank or `others`; `nobody`: for none. Nested ones count as the outermost.
  class Scope {
   public:
    Scope(WaitMark* mark, int peer) : mark_(mark != nullptr && mark->may_begin(peer) ? mark : nullptr) {
      if (mark_ != nullptr) mark_->change(peer);
    }
    ~Scope() {
      if (mark_ != nullptr) mark_->change(nobody);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WaitMark* const mark_;
  };

  struct Reading {
    int peer = nobody;
    double since = 0;  // base::monotonic_seconds() of the last change, or later
  };
  Reading read() const {
    const int peer = peer_.load(std::memory_order_acquire);
    return {peer, since_.load(std::memory_order_acquire)};
  }

 private:
  bool may_begin(int peer) const {
    const bool owned = owner_ == std::thread::id() || owner_ == std::this_thread::get_id();
    return peer != nobody && owned && peer_.load(std::memory_order_relaxed) == nobody;
  }
  // In this order, so that what is read is never older than it is.
  void change(int peer) {
    since_.store(base::monotonic_seconds(), std::memory_order_release);
    peer_.store(peer, std::memory_order_release);
  }

  const std::thread::id owner_;  // none: any
  std::atomic<double> since_{0};
  std::atomic<int> peer_{nobody};
};

}  // namespace troika::comm
