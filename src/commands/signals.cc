#include "commands/signals.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::commands {

// `timeout` and some terminals send one signal twice, to the process and to its group.
constexpr double same_request_seconds = 0.3;

static sigset_t stop_set(host::FirstUserSignal first) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR2);
  if (first == host::FirstUserSignal::asks_to_stop) sigaddset(&set, SIGUSR1);
  return set;
}

StopSignals::StopSignals(Notices notices, host::FirstUserSignal first)
    : notices_(std::move(notices)), heard_(stop_set(first)) {
  pthread_sigmask(SIG_BLOCK, &heard_, nullptr);
  thread_ = host::start_thread([this] { listen(); });
}

StopSignals::~StopSignals() {
  end_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // wakes it
  thread_.join();
}

void StopSignals::before_leaving(std::function<void()> last_words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_words_ = std::move(last_words);
}

void StopSignals::before_ending_at_once(std::function<void()> last_words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  words_of_a_second_ = std::move(last_words);
}

void StopSignals::begin_polling() {
  const std::lock_guard<std::mutex> lock(mutex_);
  polled_ = true;
}

// Holds the lock, so that what the last words use stays there.
void StopSignals::leave_unless_polled() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (polled_) return;
  std::fputs(notices_.at_once.c_str(), stderr);
  if (last_words_) last_words_();
  ::_exit(base::exit_interrupted);
}

void StopSignals::end_at_once() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (words_of_a_second_) words_of_a_second_();
  ::_exit(base::exit_interrupted);
}

void StopSignals::listen() {
  double first = 0;
  for (int signal = 0; sigwait(&heard_, &signal) == 0 && !end_;) {
    leave_unless_polled();
    const double now = base::monotonic_seconds();
    if (requested_ && now - first < same_request_seconds) continue;
    if (requested_.exchange(true)) end_at_once();
    first = now;
    std::fputs(notices_.after_the_step.c_str(), stderr);
  }
}

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
