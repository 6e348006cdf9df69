#include "commands/status_signal.h"

#include <signal.h>

#include <utility>

#include "host/thread_limit.h"

namespace troika::commands {

static sigset_t status_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return set;
}

StatusSignal::StatusSignal() {
  const sigset_t set = status_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = host::start_thread([this] { listen(); });
}

StatusSignal::~StatusSignal() {
  end_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);  // wakes it
  thread_.join();
}

void StatusSignal::set_answer(std::function<void()> answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answer_ = std::move(answer);
}

void StatusSignal::listen() {
  const sigset_t set = status_set();
  for (int signal = 0; sigwait(&set, &signal) == 0 && !end_;) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (answer_) answer_();
  }
}

}  // namespace troika::commands
