#include "commands/train/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "base/error.h"

namespace troika::commands {

static sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { listen(); });
}

StopSignals::~StopSignals() {
  end_ = true;
  thread_.join();
}

void StopSignals::listen() {
  const sigset_t set = stop_set();
  const timespec poll{0, 100'000'000};
  while (!end_) {
    if (sigtimedwait(&set, nullptr, &poll) < 0) continue;
    if (wished_.exchange(true)) ::_exit(base::exit_interrupted);
  }
}

}  // namespace troika::commands
