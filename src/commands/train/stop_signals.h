// Ctrl-C and SIGTERM as a wish: the first asks the run to save and stop after the step, a second ends the process at once.
#pragma once

#include <atomic>
#include <thread>

namespace troika::commands {

// Made before any other thread, so that all of them leave the signals to this one.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool wished() const { return wished_; }

 private:
  void listen();

  std::atomic<bool> wished_{false};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace troika::commands
