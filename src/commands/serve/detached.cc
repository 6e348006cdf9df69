#include "commands/serve/detached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/system_cause.h"
#include "base/text.h"
#include "commands/launch/worker.h"
#include "commands/serve/refusal_texts.h"

namespace troika::commands::serve {
namespace {

constexpr int lines_of_last_words = 12;
constexpr std::size_t most_last_words = 4096;
constexpr double slack_seconds = 5;           // for the child to tell what it has seen
constexpr int report_descriptor = 3;          // in the children
constexpr int first_descriptor_of_ours = 10;  // what the children take over is above those that they give new meanings

class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~OwnedDescriptor() { close(); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  int get() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_;
};

// What the child between tells, in one write each.
struct Told {
  enum class What { cannot_start, ended } what;
  int value;  // errno, or the status of waitpid
};

// Made before the fork: afterwards only system calls are allowed, as locks of other threads may be held.
struct PreparedProgram {
  std::vector<std::string> words, variables;
  std::vector<char*> argv, envp;
  const char* folder;
  int input, output, report;
  int patience_milliseconds;
};

void point_into(std::vector<std::string>& texts, std::vector<char*>& pointers) {
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
}

void tell(Told told) {
  while (::write(report_descriptor, &told, sizeof told) < 0 && errno == EINTR) {
  }
}

void reset_signals() {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);  // refused for some
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Only the standard streams, those of the program, and the pipe to tell by stay open.
void keep_own_descriptors(const PreparedProgram& p) {
  ::dup2(p.input, STDIN_FILENO);
  ::dup2(p.output, STDOUT_FILENO);
  ::dup2(p.output, STDERR_FILENO);
  ::dup3(p.report, report_descriptor, O_CLOEXEC);
  if (::syscall(SYS_close_range, report_descriptor + 1U, ~0U, 0U) == 0) return;
  for (int descriptor = report_descriptor + 1; descriptor < 65536; ++descriptor) ::close(descriptor);
}

[[noreturn]] void become_program(const PreparedProgram& p) {
  if (::chdir(p.folder) == 0) ::execve(p.argv[0], p.argv.data(), p.envp.data());
  tell({Told::What::cannot_start, errno});
  ::_exit(127);
}

// The child between: starts the program, sees for a while whether it ends, and leaves it to init.
[[noreturn]] void watch_over_start(const PreparedProgram& p) {
  ::setsid();
  reset_signals();
  keep_own_descriptors(p);
  const pid_t program = ::fork();
  if (program == 0) become_program(p);
  ::dup2(STDIN_FILENO, STDOUT_FILENO);
  ::dup2(STDIN_FILENO, STDERR_FILENO);
  if (program < 0) {
    tell({Told::What::cannot_start, errno});
    ::_exit(1);
  }
  for (int waited = 0; waited < p.patience_milliseconds; waited += 20) {
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) == program) {
      tell({Told::What::ended, status});
      ::_exit(0);
    }
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::_exit(0);
}

// False at the end of what is told, or when nothing comes any more.
bool hear(int report, double until, Told* told) {
  for (;;) {
    pollfd polled{report, POLLIN, 0};
    const int left = static_cast<int>(1000 * std::max(0.0, until - base::monotonic_seconds()));
    const int ready = ::poll(&polled, 1, left);
    if (ready == 0) return false;
    if (ready > 0) {
      const ssize_t count = ::read(report, told, sizeof *told);
      if (count >= 0 || errno != EINTR) return count == static_cast<ssize_t>(sizeof *told);
    } else if (errno != EINTR) {
      return false;
    }
  }
}

int above_the_first(int descriptor) {
  if (descriptor < 0) return descriptor;
  const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, first_descriptor_of_ours);
  ::close(descriptor);
  return above;
}

int open_log(const std::string& path) {
  const int log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  struct stat facts {};
  if (log >= 0 && ::fstat(log, &facts) == 0 && S_ISREG(facts.st_mode)) return log;
  const int reason = log < 0 ? errno : EINVAL;
  if (log >= 0) ::close(log);
  throw base::ConfigError(base::say(refusal_texts.no_log, path, base::system_cause(reason)));
}

}  // namespace

bool has_writer(const std::string& log) {
  const OwnedDescriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.get() >= 0 && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

DetachedStart start_detached(const DetachedProgram& program, double patience_seconds) {
  PreparedProgram prepared{};
  prepared.words = program.words;
  for (const auto& [name, value] : program.environment) prepared.variables.push_back(name + "=" + value);
  point_into(prepared.words, prepared.argv);
  point_into(prepared.variables, prepared.envp);
  prepared.folder = program.folder.c_str();
  prepared.patience_milliseconds = static_cast<int>(1000 * patience_seconds);

  OwnedDescriptor log(above_the_first(open_log(program.log)));
  if (::flock(log.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw base::ConfigError(base::say(refusal_texts.still_writes, program.log));
  struct stat facts {};
  ::fstat(log.get(), &facts);
  const OwnedDescriptor null(above_the_first(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  int pipe[2] = {-1, -1};
  if (null.get() < 0 || ::pipe2(pipe, O_CLOEXEC) != 0)
    throw base::ConfigError(base::say(refusal_texts.no_start, program.words.front(), base::system_cause(errno)));
  const OwnedDescriptor hearing(pipe[0]);
  OwnedDescriptor telling(above_the_first(pipe[1]));
  prepared.input = null.get();
  prepared.output = log.get();
  prepared.report = telling.get();

  const pid_t between = ::fork();
  if (between == 0) watch_over_start(prepared);
  const int fork_error = errno;
  telling.close();
  log.close();
  if (between < 0)
    throw base::ConfigError(base::say(refusal_texts.no_start, program.words.front(), base::system_cause(fork_error)));
  Told told{};
  DetachedStart start;
  const bool heard = hear(hearing.get(), base::monotonic_seconds() + patience_seconds + slack_seconds, &told);
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!heard) return start;
  if (told.what == Told::What::cannot_start)
    throw base::ConfigError(base::say(refusal_texts.no_start, program.words.front(), base::system_cause(told.value)));
  start.ended = true;
  start.exit_code = WIFSIGNALED(told.value) ? 128 + WTERMSIG(told.value) : WEXITSTATUS(told.value);
  start.last_words = base::printable(last_lines(program.log, facts.st_size, lines_of_last_words), most_last_words);
  return start;
}

}  // namespace troika::commands::serve
