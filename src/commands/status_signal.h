// SIGUSR1 as a question: where is this rank?
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace troika::commands {

// Made before any other thread, so that all of them leave the signal to this one's; main blocks it before that. Without an answer
// it is heard and nothing happens.
class StatusSignal {
 public:
  StatusSignal();
  ~StatusSignal();
  StatusSignal(const StatusSignal&) = delete;
  StatusSignal& operator=(const StatusSignal&) = delete;

  // Called on this object's thread at every signal. When it returns, no former answer runs any more.
  void set_answer(std::function<void()> answer);

 private:
  void listen();

  std::mutex mutex_;  // guards the answer, and is held while it runs
  std::function<void()> answer_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace troika::commands
