#include "commands/train/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace troika::commands {

// `timeout` and some terminals send one signal twice, to the process and to its group.
constexpr double same_request_seconds = 0.3;

static sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

StopSignals::StopSignals(std::string notice) : notice_(std::move(notice)) {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { listen(); });
}

StopSignals::~StopSignals() {
  end_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes it
  thread_.join();
}

void StopSignals::listen() {
  const sigset_t set = stop_set();
  double first = 0;
  for (int signal = 0; sigwait(&set, &signal) == 0 && !end_;) {
    const double now = base::monotonic_seconds();
    if (requested_ && now - first < same_request_seconds) continue;
    if (requested_.exchange(true)) ::_exit(base::exit_interrupted);
    first = now;
    std::fputs(notice_.c_str(), stderr);
  }
}

}  // namespace troika::commands
