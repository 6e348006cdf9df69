#include "commands/ssh/host_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

namespace troika::commands {
namespace {

constexpr std::size_t most_complaints = 2000;
constexpr double end_seconds = 0.5;

void close_end(int* descriptor) {
  if (*descriptor >= 0) ::close(*descriptor);
  *descriptor = -1;
}

// Both ends close by themselves when they go, and at exec.
struct Pipe {
  Pipe() {
    std::array<int, 2> both{-1, -1};
    if (::pipe2(both.data(), O_CLOEXEC) != 0)
      throw base::ConfigError(fmt::format("cannot make a pipe: {}", ::strerror(errno)));
    reads = both[0], writes = both[1];
  }
  ~Pipe() { close_end(&reads), close_end(&writes); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reads, writes;
};

int keep(int* descriptor) {
  ::fcntl(*descriptor, F_SETFL, O_NONBLOCK);
  return std::exchange(*descriptor, -1);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

HostProcess::HostProcess(std::vector<std::string> words, const std::map<std::string, std::string>& environment,
                         Output output) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  Pipe in, out, error;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in.reads, STDIN_FILENO);
  if (output == Output::read) {
    ::posix_spawn_file_actions_adddup2(&files, out.writes, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, error.writes, STDERR_FILENO);
  }
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &defaults);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int code = ::posix_spawnp(&pid_, words.at(0).c_str(), &files, &how, pointers_to(words).data(),
                                  pointers_to(variables).data());
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&files);
  if (code != 0) throw base::ConfigError(fmt::format("cannot start '{}': {}", words[0], ::strerror(code)));
  in_ = keep(&in.writes);
  if (output == Output::inherited) return;
  out_ = keep(&out.reads);
  error_ = keep(&error.reads);
}

HostProcess::HostProcess(HostProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      error_(std::exchange(other.error_, -1)),
      code_(other.code_),
      complaints_(std::move(other.complaints_)) {}

HostProcess::~HostProcess() {
  end_input();
  close_end(&out_);
  close_end(&error_);
  if (pid_ <= 0 || end(end_seconds)) return;
  kill();
  end(2);
}

void HostProcess::tell(const std::string& line) {
  if (in_ < 0) return;
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(in_, whole.data(), whole.size());
  ::sigaction(SIGPIPE, &before, nullptr);
}

void HostProcess::end_input() { close_end(&in_); }

void HostProcess::end_output() { close_end(&out_); }

std::string HostProcess::read_output() {
  if (out_ < 0) return "";
  std::array<char, 65536> bytes;
  const ssize_t count = ::read(out_, bytes.data(), bytes.size());
  if (count > 0) return {bytes.data(), static_cast<std::size_t>(count)};
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) close_end(&out_);
  return "";
}

void HostProcess::read_complaints() {
  std::array<char, 4096> bytes;
  while (error_ >= 0) {
    const ssize_t count = ::read(error_, bytes.data(), bytes.size());
    if (count > 0) {
      complaints_.append(bytes.data(), static_cast<std::size_t>(count));
      if (complaints_.size() > most_complaints) complaints_.erase(0, complaints_.size() - most_complaints);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      close_end(&error_);
    } else {
      return;
    }
  }
}

std::string HostProcess::complaint() const {
  std::string last;
  for (const std::string& line : base::split(complaints_, '\n'))
    if (const std::string words = base::trim(line); !words.empty()) last = words;
  return base::printable(last, 300);
}

std::optional<int> HostProcess::end(double within_seconds) {
  const double until = base::monotonic_seconds() + within_seconds;
  while (!code_ && pid_ > 0) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
      code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    else if (base::monotonic_seconds() >= until)
      break;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return code_;
}

void HostProcess::kill() {
  if (!end()) ::kill(-pid_, SIGKILL);
}

}  // namespace troika::commands
