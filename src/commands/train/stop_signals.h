// Ctrl-C and SIGTERM as stop requests: the first asks the run to save and stop after the step, a second ends the process at once.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace troika::commands {

// Made before any other thread of ours, so that all of them leave the signals to this one; threads that libraries start
// while they are loaded got the mask from `troika`, which blocks both signals before it becomes the engine.
class StopSignals {
 public:
  // `notice` goes to stderr at the first signal.
  explicit StopSignals(std::string notice);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const { return requested_; }

 private:
  void listen();

  const std::string notice_;
  std::atomic<bool> requested_{false};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace troika::commands
