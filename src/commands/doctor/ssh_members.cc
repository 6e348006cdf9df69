#include "commands/doctor/ssh_members.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/shell_word.h"

namespace troika::commands {
namespace {

constexpr std::size_t most_unread_of_member = std::size_t{4} << 20, most_complaint = 2000;
constexpr double end_seconds = 0.5;

std::array<int, 2> pipe_of_member() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::ConfigError(fmt::format("cannot make a pipe: {}", ::strerror(errno)));
  return ends;
}

// -1: it has not ended.
int wait_for_end(int pid, double seconds) {
  const double until = base::monotonic_seconds() + seconds;
  for (;;) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != 0)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (base::monotonic_seconds() > until) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Without what ssh says at every start.
std::string last_complaint(const std::string& text) {
  std::string last;
  for (const std::string& line : base::split(text, '\n'))
    if (const std::string words = base::trim(line); !words.empty()) last = words;
  return base::printable(last, 300);
}

void close_ends(std::initializer_list<int> descriptors) {
  for (const int one : descriptors)
    if (one >= 0) ::close(one);
}

}  // namespace

ProcessMembers::ProcessMembers(const std::vector<MemberProcess>& processes,
                               const std::map<std::string, std::string>& environment) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  for (const MemberProcess& process : processes) start(process, pointers);
}

void ProcessMembers::start(const MemberProcess& process, std::vector<char*>& environment) {
  const auto in = pipe_of_member(), out = pipe_of_member(), error = pipe_of_member();
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, error[1], STDERR_FILENO);
  std::vector<std::string> words = process.words;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Process started{process.name, -1, in[1], out[0], error[0], "", ""};
  const int code = ::posix_spawnp(&started.pid, pointers[0], &files, nullptr, pointers.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&files);
  close_ends({in[0], out[1], error[1]});
  if (code != 0) {
    close_ends({in[1], out[0], error[0]});
    throw base::ConfigError(fmt::format("cannot start '{}': {}", words[0], ::strerror(code)));
  }
  for (const int one : {started.in, started.out, started.error}) ::fcntl(one, F_SETFL, O_NONBLOCK);
  processes_.push_back(std::move(started));
}

ProcessMembers::~ProcessMembers() {
  for (Process& process : processes_) {
    close_ends({process.in, process.out, process.error});
    process.in = process.out = process.error = -1;
  }
  const double until = base::monotonic_seconds() + end_seconds;
  for (const Process& process : processes_) {
    if (process.pid <= 0 || wait_for_end(process.pid, std::max(0.0, until - base::monotonic_seconds())) >= 0) continue;
    ::kill(process.pid, SIGKILL);
    wait_for_end(process.pid, 2);
  }
}

// A member that does not read has room for more than it is ever told.
void ProcessMembers::say(std::size_t member, const std::string& line) {
  const Process& process = processes_[member];
  if (process.in < 0) return;
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const std::string whole = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(process.in, whole.data(), whole.size());
  ::sigaction(SIGPIPE, &before, nullptr);
}

std::vector<doctor::Members::Heard> ProcessMembers::hear(double seconds) {
  std::vector<pollfd> polled;
  for (const Process& process : processes_) {
    polled.push_back({process.out, POLLIN, 0});
    polled.push_back({process.error, POLLIN, 0});
  }
  std::vector<Heard> heard;
  if (::poll(polled.data(), polled.size(), static_cast<int>(1000 * std::max(0.0, seconds)) + 1) <= 0) return heard;
  for (std::size_t member = 0; member < processes_.size(); ++member) {
    if (polled[2 * member + 1].revents != 0) read_complaint(processes_[member]);
    if (polled[2 * member].revents != 0) read_lines(member, heard);
  }
  return heard;
}

void ProcessMembers::read_complaint(Process& process) {
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(process.error, bytes.data(), bytes.size());
  if (count > 0) {
    process.complaint.append(bytes.data(), static_cast<std::size_t>(count));
    if (process.complaint.size() > most_complaint)
      process.complaint.erase(0, process.complaint.size() - most_complaint);
  } else if (count == 0 || errno != EAGAIN) {
    ::close(process.error);
    process.error = -1;
  }
}

// Lines that are no JSON are a shell's greeting.
void ProcessMembers::read_lines(std::size_t member, std::vector<Heard>& heard) {
  Process& process = processes_[member];
  std::array<char, 65536> bytes;
  const ssize_t count = ::read(process.out, bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) process.unread.append(bytes.data(), static_cast<std::size_t>(count));
  for (auto end = process.unread.find('\n'); end != std::string::npos; end = process.unread.find('\n')) {
    if (process.unread.front() == '{') heard.push_back({member, process.unread.substr(0, end), false});
    process.unread.erase(0, end + 1);
  }
  if (count > 0 && process.unread.size() <= most_unread_of_member) return;
  heard.push_back({member, end_of(process), true});
}

std::string ProcessMembers::end_of(Process& process) {
  ::close(process.out);
  process.out = -1;
  const int code = wait_for_end(process.pid, end_seconds);
  while (process.error >= 0) {
    const std::size_t before = process.complaint.size();
    read_complaint(process);
    if (process.complaint.size() == before) break;
  }
  if (code >= 0) process.pid = -1;
  const std::string complaint = last_complaint(process.complaint);
  if (!complaint.empty()) return complaint;
  if (code > 128) return fmt::format("signal {}", code - 128);
  return code < 0 ? "its output ended" : fmt::format("exit code {}", code);
}

std::vector<std::string> ssh_words(const SshHost& host, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"};
  if (host.port > 0) words.insert(words.end(), {"-p", std::to_string(host.port)});
  std::vector<std::string> quoted;
  for (const std::string& word : command) quoted.push_back(shell_word(word));
  words.insert(words.end(), {host.destination, base::join(quoted, " ")});
  return words;
}

}  // namespace troika::commands
