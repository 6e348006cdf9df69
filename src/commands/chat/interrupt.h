// Ctrl-C in a conversation: stops an answer while one is being given, and ends the process at any other time.
#pragma once

#include <atomic>
#include <thread>

namespace troika::commands {

// Made before any other thread of ours, so that all of them leave SIGINT to this one; threads that libraries start
// while they are loaded got the mask from `troika`.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Between these two the first Ctrl-C stops the answer, and a second one ends the process.
  void answer_begins();
  void answer_ends();
  bool requested() const { return requested_; }

 private:
  void listen();
  void hear();

  std::atomic<bool> answering_{false}, requested_{false}, end_{false};
  double first_ = 0;  // when it came
  std::thread thread_;
};

}  // namespace troika::commands
