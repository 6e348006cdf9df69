#include "commands/demo/stages.h"

#include <cstdio>
#include <utility>

#include "base/error.h"
#include "host/subprocess.h"

namespace troika::commands {
namespace {

// The terminal sends Ctrl-C to all processes of a command line; what another process sends reaches this one alone.
bool came_from_the_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

}  // namespace

Stages::Stages(std::string program, std::map<std::string, std::string> environment)
    : program_(std::move(program)), environment_(std::move(environment)) {
  ::sigemptyset(&waited_);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&waited_, signal);
  ::sigprocmask(SIG_BLOCK, &waited_, &before_);
}

Stages::~Stages() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int Stages::run(const std::vector<std::string>& words) {
  host::Command command{words, environment_};
  command.words.insert(command.words.begin(), program_);
  command.signals = {host::SignalStart::Ignored::as_here, before_};
  command.signal_at_our_end = SIGTERM;
  std::fflush(nullptr);  // what was printed before stands before what the command prints
  host::Subprocess stage(command);
  for (bool stopped = false;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&waited_, &info);
    if (signal == SIGCHLD && stage.ends_within(0)) return stopped ? base::exit_interrupted : stage.wait().code();
    if (signal != SIGINT && signal != SIGTERM) continue;
    stopped = true;
    if (!came_from_the_terminal(info)) stage.send(signal);
  }
}

}  // namespace troika::commands
