#include "commands/demo/stages.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace troika::commands {
namespace {

[[noreturn]] void become_stage(const char* program, char* const* words, const sigset_t& mask, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(75);  // it died before the line above
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(program, words);
  ::perror(program);
  ::_exit(126);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// The terminal sends Ctrl-C to all processes of a command line; what another process sends reaches this one alone.
bool came_from_the_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

}  // namespace

Stages::Stages(std::string program) : program_(std::move(program)) {
  ::sigemptyset(&waited_);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&waited_, signal);
  ::sigprocmask(SIG_BLOCK, &waited_, &before_);
}

Stages::~Stages() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int Stages::run(const std::vector<std::string>& words) {
  std::vector<std::string> texts = words;
  texts.insert(texts.begin(), program_);
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);  // what was printed before stands before what the command prints
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become_stage(program_.c_str(), pointers.data(), before_, parent);
  if (child < 0) throw base::ConfigError(std::string("cannot start a process: ") + std::strerror(errno));
  int status = 0;
  for (bool stopped = false;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&waited_, &info);
    if (signal == SIGCHLD && ::waitpid(child, &status, WNOHANG) == child)
      return stopped ? base::exit_interrupted : code_of(status);
    if (signal != SIGINT && signal != SIGTERM) continue;
    stopped = true;
    if (!came_from_the_terminal(info)) ::kill(child, signal);
  }
}

}  // namespace troika::commands
