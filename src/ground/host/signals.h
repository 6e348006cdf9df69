// The signals a launcher hears, as a descriptor to poll: SIGCHLD, SIGUSR1, the stop signals, SIGTSTP (Ctrl-Z), and SIGPIPE, so that a
// reader of its words that goes away (`| tee`) ends no run.
#pragma once

#include <csignal>
#include <functional>
#include <string_view>
#include <utility>

namespace troika::host {

// What SIGUSR1 means to a launcher and a rank. SIGUSR2 always asks to stop.
enum class FirstUserSignal {
  asks_where,  // where are you?
  asks_to_stop,  // save and stop, as SIGTERM: in a step of SLURM, whose jobs usually get it before their time limit (--signal=USR1@60)
};

bool asks_to_stop(int signal);  // of what Signals::wait returns

// Blocks SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE and, unless they are ignored, SIGHUP (nohup) and SIGTSTP for this thread
// (and those it starts later) for its lifetime.
class Signals {
 public:
  // `first` says what SIGUSR1 means; where it asks to stop, wait() returns SIGTERM for it.
  explicit Signals(FirstUserSignal first = FirstUserSignal::asks_where);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Waits at most `milliseconds`; returns the next signal, or 0. At SIGTSTP this process stops here until it is continued.
  int wait(int milliseconds);

  // Actions before it stops so and after it is continued; empty: nothing.
  struct Pause {
    std::function<void()> before, after;
  };
  void around_pauses(Pause pause) { pause_ = std::move(pause); }

 private:
  void pause();

  const FirstUserSignal first_;
  Pause pause_;
  int descriptor_;
  sigset_t before_;
};

// Names of signals, which the C library has since glibc 2.32 alone.

// "KILL" of SIGKILL; "?" of a number that has no name.
inline std::string_view signal_name(int signal) {
  struct Named {
    int signal;
    std::string_view name;
  };
  static constexpr Named names[] = {
      {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"},     {SIGILL, "ILL"},   {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},
      {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"},     {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
      {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},     {SIGSTKFLT, "STKFLT"}, {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"}, {SIGSTOP, "STOP"},
      {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"},
      {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGIO, "POLL"}, {SIGPWR, "PWR"},   {SIGSYS, "SYS"}};
  for (const Named& one : names) {
    if (one.signal == signal) return one.name;
  }
  return "?";
}

}  // namespace troika::host
