// Names of signals, which the C library has since glibc 2.32 alone.
#pragma once

#include <csignal>
#include <string_view>

namespace troika::host {

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
