// Ctrl-C, SIGTERM and SIGUSR2 as stop requests, and SIGUSR1 where it is one. At first one ends the process at once: whatever it
// does can be begun again. From begin_polling() on, the first asks the run to save and stop after the step, and a second ends the
// process at once.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "launch/launcher.h"

namespace troika::commands {

// Made before any other thread, so that all of them leave the signals to this one.
class StopSignals {
 public:
  // The text for stderr at the first signal; "": nothing.
  struct Notices {
    std::string at_once;
    std::string after_the_step;
  };
  explicit StopSignals(Notices notices, host::FirstUserSignal first = host::FirstUserSignal::asks_where);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first action at a signal that ends the process at once, on a thread of its own, within about two seconds; empty: none.
  // Returns when the words before it are not being said: they end with the process.
  void before_leaving(std::function<void()> last_words);
  void before_ending_at_once(std::function<void()> last_words);  // the same for a second request

  void begin_polling();  // from now on requested() is looked at
  bool requested() const { return requested_; }

 private:
  void listen();
  void leave_unless_polled();
  [[noreturn]] void end_at_once();

  const Notices notices_;
  const sigset_t heard_;
  std::mutex mutex_;  // guards the three below, and is held while a function runs
  bool polled_ = false;
  std::function<void()> last_words_, words_of_a_second_;
  std::atomic<bool> requested_{false};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

// SIGUSR1 as a question: where is this rank?

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
