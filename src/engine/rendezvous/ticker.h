// A thread that does something at a fixed pace.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "host/thread_limit.h"

namespace troika::rendezvous {

// Until it is stopped, or its action has had enough.
class Ticker {
 public:
  // `tick` returns false to end. It must not throw. ConfigError where the system grants no thread.
  Ticker(double period_seconds, std::function<bool()> tick)
      : thread_(host::start_thread([this, period_seconds, tick = std::move(tick)] { run(period_seconds, tick); })) {}
  ~Ticker() { stop(); }

  // Ticks without waiting for the pace. Returns when a tick that began after the call has ended, or none comes any more.
  void tick_now() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::int64_t awaited = begun_ + 1;
    wanted_ = awaited;
    wake_.notify_all();
    wake_.wait(lock, [&] { return finished_ >= awaited || ended_ || stopping_; });
  }

  void stop() {  // returns when no tick runs any more
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(double period_seconds, const std::function<bool()>& tick) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_ && !ended_) {
      ++begun_;
      lock.unlock();
      const bool goes_on = tick();
      lock.lock();
      finished_ = begun_;
      ended_ = !goes_on;
      wake_.notify_all();
      if (goes_on)
        wake_.wait_for(lock, std::chrono::duration<double>(period_seconds),
                       [this] { return stopping_ || wanted_ > begun_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, ended_ = false;
  std::int64_t begun_ = 0, finished_ = 0, wanted_ = 0;  // ticks
  std::thread thread_;
};

}  // namespace troika::rendezvous
