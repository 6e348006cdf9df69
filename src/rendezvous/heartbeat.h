// The heartbeat of a rank: says that it lives and where it is, and hears when the attempt has failed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// A thread that does something at a fixed pace until it is stopped.
class Ticker {
 public:
  // `tick` returns false to end. It must not throw.
  Ticker(double period_seconds, std::function<bool()> tick)
      : thread_([this, period_seconds, tick = std::move(tick)] { run(period_seconds, tick); }) {}
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

// Writes a heartbeat to the store every heartbeat_seconds / 5, at least once a second, from a thread and a connection of its own.
class HeartbeatClient {
 public:
  // `on_failure(text)` is called once, from the client's thread, when a failure report is there or the store has been gone for
  // `heartbeat_seconds`; it must not call the client. Throws PeerError when the store cannot be reached.
  HeartbeatClient(const Identity& identity, double heartbeat_seconds,
                  std::function<void(const std::string&)> on_failure);
  ~HeartbeatClient();  // the heartbeats stop; without done() or failed() before, the FailureMonitor takes the rank for dead
  HeartbeatClient(const HeartbeatClient&) = delete;
  HeartbeatClient& operator=(const HeartbeatClient&) = delete;

  // Where the rank is; shown when it falls silent. From one thread, cheap (a lock that is free, a copy of the text). A call
  // that reaches step 0 or the first step returns when the store has heard it or cannot be reached: a rank that is not known
  // to have begun has not begun.
  void at(std::int64_t step, const std::string& instruction);

  // This rank ends well, or failed with this error; the heartbeats stop. After failed() a failure report is still heard of. A
  // store that is gone is no error here.
  void done();
  void failed(int exit_code, const std::string& text);

  // The text of the failure report, "" while there is none; from any thread.
  std::string failure_report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
