// The signals a launcher hears, as a descriptor to poll: SIGCHLD, SIGUSR1 and the stop signals.
#pragma once

#include <signal.h>

namespace troika::commands {

// Blocks SIGINT, SIGTERM, SIGUSR1, SIGCHLD and, unless it is ignored (nohup), SIGHUP for this thread (and those it starts later) for its lifetime.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits at most `milliseconds`; returns the next signal, or 0.
  int wait(int milliseconds);

 private:
  int descriptor_;
  sigset_t before_;
};

}  // namespace troika::commands
