#include "host/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace troika::host {

bool asks_to_stop(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGUSR2; }

Signals::Signals(FirstUserSignal first) : first_(first), descriptor_(-1) {
  sigset_t heard;
  ::sigemptyset(&heard);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGPIPE}) ::sigaddset(&heard, signal);
  for (const int signal : {SIGHUP, SIGTSTP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&heard, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &heard, &before_);
  descriptor_ = ::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  ::close(descriptor_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// The system stops no process that nobody could continue: then it continues at once.
void Signals::pause() {
  if (pause_.before) pause_.before();
  sigset_t stop, blocked;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, &blocked);
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  if (pause_.after) pause_.after();
}

int Signals::wait(int milliseconds) {
  pollfd polled{descriptor_, POLLIN, 0};
  ::poll(&polled, 1, milliseconds);
  signalfd_siginfo info{};
  if (::read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  if (info.ssi_signo == SIGTSTP) {
    pause();
    return 0;
  }
  const bool to_stop = info.ssi_signo == SIGUSR1 && first_ == FirstUserSignal::asks_to_stop;
  return to_stop ? SIGTERM : static_cast<int>(info.ssi_signo);
}

}  // namespace troika::host
