#include "host/subprocess.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "host/thread_limit.h"

namespace troika::host {
namespace {

constexpr int standard_streams = 3;
constexpr double killed_seconds = 2;
constexpr std::size_t most_output = std::size_t{64} << 10;

// The message of a child that could not become the program.
struct NotBecome {
  enum class Step { folder, program } step;
  int cause;  // errno
};

// Everything the child needs, made before it is there: it shares this process's memory, where other threads may hold locks, so it
// makes system calls and nothing else.
struct Prepared {
  std::string file;
  std::vector<std::string> words, variables;
  std::vector<char*> argv, envp;
  std::array<base::Descriptor, standard_streams> streams;  // above those that they become; none: inherited
  base::Descriptor report;
  cpu_set_t cores;
  pid_t parent = 0;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void reset_signals(const SignalStart& signals) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_DFL) continue;
    if (now.sa_handler == SIG_IGN && signals.ignored == SignalStart::Ignored::as_here) continue;
    ::sigaction(signal, &usual, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &signals.blocked, nullptr);
}

void close_others_at_exec() {
  constexpr long close_range = 436;      // since Linux 5.9
  constexpr unsigned close_at_exec = 4;  // CLOSE_RANGE_CLOEXEC
  if (::syscall(close_range, standard_streams, ~0U, close_at_exec) == 0) return;
  constexpr int most_files = 65536;  // of a kernel before 5.11
  for (int file = standard_streams; file < most_files; ++file) ::fcntl(file, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void fail(const Prepared& prepared, NotBecome::Step step) {
  const NotBecome told{step, errno};
  while (::write(prepared.report.number(), &told, sizeof told) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

[[noreturn]] void become(const Command& command, const Prepared& prepared) {
  if (command.group == Command::Group::own) ::setpgid(0, 0);
  if (command.group == Command::Group::session) ::setsid();
  if (command.signal_at_our_end != 0) ::prctl(PR_SET_PDEATHSIG, command.signal_at_our_end);
  if (command.signal_at_our_end != 0 && ::getppid() != prepared.parent) ::_exit(127);  // it ended before that line
  if (!command.cores.empty()) ::sched_setaffinity(0, sizeof prepared.cores, &prepared.cores);
  for (int stream = 0; stream < standard_streams; ++stream)
    if (const base::Descriptor& file = prepared.streams[static_cast<std::size_t>(stream)])
      ::dup2(file.number(), stream);
  if (!command.folder.empty() && ::chdir(command.folder.c_str()) != 0) fail(prepared, NotBecome::Step::folder);
  if (command.other_files == Command::Files::closed) close_others_at_exec();
  reset_signals(command.signals);
  ::execve(prepared.file.c_str(), prepared.argv.data(), prepared.envp.data());
  fail(prepared, NotBecome::Step::program);
}

// No signal is handled meanwhile: a handler would run in the child, too, and change what this process remembers.
[[gnu::noinline]] pid_t child_that_becomes(const Command& command, const Prepared& prepared) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();
  if (child == 0) become(command, prepared);
  const int cause = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = cause;
  return child;
}

StartError not_started(const std::string& file, int cause) {
  const base::Text why = cause == EAGAIN ? no_more_threads() : base::system_cause(cause);
  return {base::say("cannot start '{}': {}", file, why), cause};
}

// One that closes at exec and lies above the standard streams, so that none of these is overwritten before it is taken.
base::Descriptor above_standard(int number, const std::string& file) {
  base::Descriptor above(number < 0 ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, standard_streams));
  if (!above) throw not_started(file, errno);
  return above;
}

base::Pipe pipe_for(const std::string& file) {
  base::Pipe pipe = base::make_pipe();
  if (!pipe.reads) throw not_started(file, errno);
  return pipe;
}

// The child's end; of a pipe, the other end is for `ours`.
base::Descriptor end_of(const Stream& stream, int number, const std::string& file, base::Descriptor& ours) {
  switch (stream.kind()) {
    case Stream::Kind::inherited:
      return {};
    case Stream::Kind::nothing: {
      const base::Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
      if (!nothing) throw StartError(base::say("cannot start '{}': /dev/null cannot be opened: {}; it provides the empty standard input", file, base::system_cause(errno)), errno);
      return above_standard(nothing.number(), file);
    }
    case Stream::Kind::pipe: {
      base::Pipe pipe = pipe_for(file);
      const bool reads = number == STDIN_FILENO;
      ours = std::move(reads ? pipe.writes : pipe.reads);
      return above_standard((reads ? pipe.reads : pipe.writes).number(), file);
    }
    case Stream::Kind::open:
      return above_standard(stream.number(), file);
  }
  return {};
}

End end_of_status(int status) { return WIFSIGNALED(status) ? End{0, WTERMSIG(status)} : End{WEXITSTATUS(status), 0}; }

// -1 with errno where there is no such child.
int collect(pid_t pid, int* status) {
  int found = -1;
  do found = ::waitpid(pid, status, 0);
  while (found < 0 && errno == EINTR);
  return found;
}

}  // namespace

SignalStart blocked_alone(std::initializer_list<int> signals) {
  SignalStart start{SignalStart::Ignored::none, {}};
  ::sigemptyset(&start.blocked);
  for (const int signal : signals) ::sigaddset(&start.blocked, signal);
  return start;
}

SignalStart signals_of_this_thread() {
  SignalStart start{SignalStart::Ignored::as_here, {}};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &start.blocked);
  return start;
}

Subprocess::Subprocess(const Command& command) : leads_(command.group != Command::Group::as_here) {
  const std::string name = command.file.empty() ? command.words.at(0) : command.file;
  Prepared prepared;
  prepared.file = command.file.empty() ? find_program(name, command.environment) : name;
  if (prepared.file.empty()) throw not_started(name, ENOENT);
  prepared.words = command.words;
  for (const auto& [variable, value] : command.environment) prepared.variables.push_back(variable + "=" + value);
  prepared.argv = pointers_to(prepared.words);
  prepared.envp = pointers_to(prepared.variables);
  prepared.streams = {end_of(command.input, STDIN_FILENO, name, input_),
                      end_of(command.output, STDOUT_FILENO, name, output_),
                      end_of(command.errors, STDERR_FILENO, name, errors_)};
  base::Pipe report = pipe_for(name);
  prepared.report = above_standard(report.writes.number(), name);
  report.writes.close();
  CPU_ZERO(&prepared.cores);
  for (const int core : command.cores) CPU_SET(static_cast<std::size_t>(core), &prepared.cores);
  prepared.parent = ::getpid();

  const pid_t child = child_that_becomes(command, prepared);
  if (child < 0) throw not_started(name, errno);
  prepared.report.close();
  NotBecome told{};
  ssize_t count = -1;
  do count = ::read(report.reads.number(), &told, sizeof told);
  while (count < 0 && errno == EINTR);
  if (count == 0) {  // closed by exec
    pid_ = child;
    return;
  }
  int status = 0;
  collect(child, &status);
  if (told.step == NotBecome::Step::program) throw not_started(name, told.cause);
  throw StartError(base::say("cannot start '{0}' in the folder '{1}': {2}", name, command.folder, base::system_cause(told.cause)),
                   told.cause);
}

Subprocess::~Subprocess() {
  if (pid_ <= 0 || end_) return;
  if (!ends_within(0)) send(SIGKILL);
  if (ends_within(killed_seconds)) wait();
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      leads_(other.leads_),
      end_(other.end_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

void Subprocess::send(int signal) const {
  if (pid_ > 0 && !end_) ::kill(leads_ ? -pid_ : pid_, signal);
}

// Without a descriptor of the process, which kernels before 5.3 do not give.
bool Subprocess::ends_within(double seconds) const {
  using std::chrono::microseconds;
  const double until = base::monotonic_seconds() + seconds;
  for (microseconds pause{200}; pid_ > 0 && !end_; pause = std::min(2 * pause, microseconds{10'000})) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) break;
    const double left = until - base::monotonic_seconds();
    if (left <= 0) return false;
    std::this_thread::sleep_for(std::min(pause, microseconds(1 + static_cast<std::int64_t>(1e6 * left))));
  }
  return true;
}

End Subprocess::wait() {
  if (end_ || pid_ <= 0) return end_.value_or(End{});
  int status = 0;
  end_ = collect(pid_, &status) == pid_ ? end_of_status(status) : End{-1, 0};
  return *end_;
}

void Subprocess::leave() { pid_ = -1; }

std::string find_program(const std::string& name, const std::map<std::string, std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  const auto path = environment.find("PATH");
  for (const std::string& folder : base::split(path == environment.end() ? "/bin:/usr/bin" : path->second, ':')) {
    const std::string file = folder + "/" + name;
    struct stat facts {};
    if (!folder.empty() && ::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        ::access(file.c_str(), X_OK) == 0)
      return file;
  }
  return "";
}

std::string output_of(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment,
                      double seconds) {
  const double until = base::monotonic_seconds() + seconds;
  Command command{words, environment};
  command.output = Stream::pipe();
  command.errors = Stream::nothing();
  command.signals = signals_of_this_thread();
  try {
    Subprocess program(command);
    const std::optional<std::string> text = base::read_to_end(program.output(), seconds, most_output);
    if (text && program.ends_within(until - base::monotonic_seconds()) && program.wait().well()) return *text;
  } catch (const base::ConfigError&) {  // it is not there
  }
  return "";
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_-./:=,+@%", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace troika::host
