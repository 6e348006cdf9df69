#include "commands/chat/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::commands {

// `timeout` and some terminals send one signal twice, to the process and to its group.
constexpr double same_request_seconds = 0.3;

static sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

Interrupt::Interrupt() {
  const sigset_t set = set_of({SIGINT});
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = host::start_thread([this] { listen(); });
}

Interrupt::~Interrupt() {
  end_ = true;
  pthread_kill(thread_.native_handle(), SIGINT);  // wakes it
  thread_.join();
}

void Interrupt::answer_begins() {
  requested_ = false;
  answering_ = true;
}

void Interrupt::answer_ends() { answering_ = false; }

void Interrupt::listen() {
  const sigset_t set = set_of({SIGINT});
  for (int signal = 0; sigwait(&set, &signal) == 0 && !end_;) hear();
}

void Interrupt::hear() {
  const double now = base::monotonic_seconds();
  if (requested_ && now - first_ < same_request_seconds) return;
  if (!answering_ || requested_.exchange(true)) {
    const ssize_t ignored = ::write(STDERR_FILENO, "\n", 1);
    static_cast<void>(ignored);
    ::_exit(base::exit_interrupted);
  }
  first_ = now;
}

}  // namespace troika::commands
