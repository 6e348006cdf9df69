// The signals a launcher hears, as a descriptor to poll: SIGCHLD, SIGUSR1, the stop signals, and SIGPIPE, so that a reader of
// its words that goes away (`| tee`) ends no run.
#pragma once

#include <signal.h>

namespace troika::commands {

bool asks_to_stop(int signal);  // of what Signals::wait returns

// Blocks SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGPIPE and, unless it is ignored (nohup), SIGHUP for this thread (and those it starts later) for its lifetime.
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
