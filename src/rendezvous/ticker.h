// A thread that does something at a fixed pace until it is stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace troika::rendezvous {

class Ticker {
 public:
  // `tick` returns false to end. It must not throw.
  Ticker(double period_seconds, std::function<bool()> tick)
      : thread_([this, period_seconds, tick = std::move(tick)] { run(period_seconds, tick); }) {}
  ~Ticker() { stop(); }

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
    while (!stopping_) {
      lock.unlock();
      if (!tick()) return;
      lock.lock();
      wake_.wait_for(lock, std::chrono::duration<double>(period_seconds), [this] { return stopping_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troika::rendezvous
