// A few threads that answer what may take a while, so that neither a slow disk nor a long computation keeps the server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/say.h"

namespace troika::serve {

// Threads: any may post.
class RequestPool {
 public:
  static constexpr int threads = 4;
  static constexpr int most_waiting = 256;

  explicit RequestPool(double patience_seconds = 2);
  ~RequestPool();  // end()
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  // False where too many jobs wait. A job throws nothing, and what it touches must outlive the request_pool's threads: it owns or shares it.
  bool post(std::function<void()> job);

  // Requests that have not begun are dropped. False where a thread has not ended with that patience, as one that a dead disk keeps.
  bool end();

 private:
  struct Shared;
  const double patience_seconds_;
  std::shared_ptr<Shared> shared_;
};

// One after the other, for those who do not wait for ever: the holder of the turn may be blocked on a disk that does not answer.
// Threads: any.
class Turn {
 public:
  explicit Turn(std::chrono::milliseconds patience = std::chrono::seconds(5)) : patience_(patience) {}

  // While it lives, it is the caller's turn. PeerError, which names `folder`, when that does not come in time.
  class Held {
   public:
    Held(Turn& turn, const std::string& folder) : turn_(turn) {
      std::unique_lock<std::mutex> lock(turn_.mutex_);
      if (!turn_.ended_.wait_for(lock, turn_.patience_, [this] { return !turn_.taken_; }))
        throw base::PeerError(
            base::say("the disk of {} has not answered for {:g} s", folder, std::chrono::duration<double>(turn_.patience_).count()));
      turn_.taken_ = true;
    }
    ~Held() {
      const std::lock_guard<std::mutex> lock(turn_.mutex_);
      turn_.taken_ = false;
      turn_.ended_.notify_one();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Turn& turn_;
  };

 private:
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool taken_ = false;
};

}  // namespace troika::serve
