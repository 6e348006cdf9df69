#include "commands/launch/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::commands {
namespace {

// Everything the child needs, made before the fork: afterwards only system calls are allowed, as other threads' locks may be held.
struct Prepared {
  std::vector<std::string> words, variables;
  std::vector<char*> argv, envp;
  int output = -1, input = -1, report = -1;
  bool bound = false;
  cpu_set_t cores;  // when bound
  pid_t launcher = 0;
};

void point_at(std::vector<std::string>& texts, std::vector<char*>& pointers) {
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
}

[[noreturn]] void become(const char* program, const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.launcher) ::_exit(75);  // the launcher died before the line above
  if (prepared.bound) ::sched_setaffinity(0, sizeof prepared.cores, &prepared.cores);  // runs unbound when refused
  ::dup2(prepared.input, STDIN_FILENO);
  if (prepared.output >= 0) {
    ::dup2(prepared.output, STDOUT_FILENO);
    ::dup2(prepared.output, STDERR_FILENO);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t blocked;  // a scheduler sends these to all processes; they would end a rank that does not listen to them yet
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigaddset(&blocked, SIGUSR2);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  ::execve(program, prepared.argv.data(), prepared.envp.data());
  const int code = errno;
  const ssize_t told = ::write(prepared.report, &code, sizeof code);
  ::_exit(told > 0 ? 127 : 126);
}

int open_or_fail(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) throw base::ConfigError(fmt::format("cannot open '{}': {}", path, ::strerror(errno)));
  return file;
}

}  // namespace

Worker start_worker(const WorkerPlan& plan) {
  Worker worker;
  worker.plan = plan;
  Prepared prepared;
  prepared.words = plan.arguments;
  for (const auto& [name, value] : plan.environment) prepared.variables.push_back(name + "=" + value);
  point_at(prepared.words, prepared.argv);
  point_at(prepared.variables, prepared.envp);
  prepared.bound = !plan.cores.empty();
  CPU_ZERO(&prepared.cores);
  for (const int core : plan.cores) CPU_SET(static_cast<std::size_t>(core), &prepared.cores);
  prepared.launcher = ::getpid();
  prepared.input = open_or_fail("/dev/null", O_RDONLY);
  if (!plan.log_path.empty()) {
    prepared.output = open_or_fail(plan.log_path, O_WRONLY | O_CREAT | O_APPEND);
    worker.log_start = base::file_size(plan.log_path);
  }
  int report[2] = {-1, -1};
  if (::pipe2(report, O_CLOEXEC) != 0)
    throw base::ConfigError(fmt::format("cannot make a pipe: {}", ::strerror(errno)));
  prepared.report = report[1];
  worker.pid = ::fork();
  const int fork_error = errno;
  if (worker.pid == 0) become(plan.program.c_str(), prepared);
  ::close(report[1]);
  ::close(prepared.input);
  if (prepared.output >= 0) ::close(prepared.output);
  int code = worker.pid < 0 ? fork_error : 0;
  if (worker.pid > 0 && ::read(report[0], &code, sizeof code) > 0) ::waitpid(worker.pid, nullptr, 0);
  ::close(report[0]);
  if (code != 0) throw base::ConfigError(fmt::format("cannot start '{}': {}", plan.program, ::strerror(code)));
  return worker;
}

void signal_worker(const Worker& worker, int signal) {
  if (!worker.ended) ::kill(-worker.pid, signal);
}

bool reap(Worker& worker) {
  if (worker.ended) return false;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(worker.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return false;
  ::kill(-worker.pid, SIGKILL);  // what it left running in its group; the group's number is still taken
  int status = 0;
  ::waitpid(worker.pid, &status, 0);
  worker.ended = true;
  if (WIFSIGNALED(status))
    worker.signal = WTERMSIG(status);
  else
    worker.exit_code = WEXITSTATUS(status);
  return true;
}

bool see_stop(Worker& worker) {
  if (worker.ended) return false;
  const int before = worker.stop;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(worker.pid), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid != 0) {
    worker.stop = info.si_code == CLD_STOPPED ? info.si_status : 0;
    if (worker.stop != 0) worker.stopped_since = base::monotonic_seconds();
    info = {};
  }
  return (worker.stop == 0) != (before == 0);
}

std::string describe_end(const Worker& worker, const std::string& host, std::int64_t memory_kills) {
  const std::string who = fmt::format("rank {} (host {}, pid {})", worker.plan.world_rank, host, worker.pid);
  if (worker.signal == 0) return fmt::format("{} ended with exit code {}", who, worker.exit_code);
  const char* name = ::sigabbrev_np(worker.signal);
  std::string text =
      fmt::format("{} was killed by signal {} (SIG{})", who, worker.signal, name == nullptr ? "?" : name);
  if (worker.signal != SIGKILL) return text;
  if (memory_kills > 0)
    return text +
           ", and the system's out-of-memory killer acted meanwhile: use a smaller micro batch, seq-len or model, or "
           "more stages";
  return text + "; if nobody did that, memory ran out: use a smaller micro batch, seq-len or model, or more stages";
}

std::string last_lines(const std::string& path, std::int64_t from, int lines) {
  std::string text;
  try {
    const base::MappedFile file(path);
    const std::string_view all = file.text();
    std::size_t begin = all.size();
    const auto start = std::min(static_cast<std::size_t>(from), all.size());
    if (begin > start && all[begin - 1] == '\n') --begin;
    const std::size_t end = begin;
    for (int count = 0; begin > start; --begin) {
      if (all[begin - 1] == '\n' && ++count == lines) break;
    }
    text = std::string(all.substr(begin, end - begin));
  } catch (const base::DataError&) {  // no log, no lines
  }
  return text;
}

}  // namespace troika::commands
