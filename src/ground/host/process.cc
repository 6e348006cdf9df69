#include "host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::host {

// The words of its stat behind the name, which may hold anything; none where it has ended.
static std::vector<std::string> stat_of(std::int64_t pid) {
  try {
    const std::string stat = base::read_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t name_end = stat.rfind(')');
    if (name_end != std::string::npos && name_end + 2 <= stat.size()) return base::split(stat.substr(name_end + 2), ' ');
  } catch (const base::DataError&) {  // it has ended
  }
  return {};
}

std::int64_t process_start(std::int64_t pid) {
  constexpr std::size_t start_word = 19;
  std::int64_t ticks = 0;
  const std::vector<std::string> words = stat_of(pid);
  const bool has_ended = !words.empty() && (words[0] == "Z" || words[0] == "X");  // nobody has asked how yet
  if (words.size() > start_word && !has_ended) base::parse_int(words[start_word], &ticks);
  return ticks;
}

bool is_stopped(std::int64_t pid) {
  const std::vector<std::string> words = stat_of(pid);
  return !words.empty() && (words[0] == "T" || words[0] == "t");
}

// By their numbers: glibc has names for these calls since 2.36, headers of kernels before 5.3 have none.
constexpr long pidfd_open = 434, pidfd_send_signal = 424;

HeldProcess::HeldProcess(const ProcessId& id) {
  if (id.pid <= 0 || id.start <= 0) return;
  descriptor_ = static_cast<int>(::syscall(pidfd_open, static_cast<pid_t>(id.pid), 0));
  const bool refused = descriptor_ < 0 && errno == ENOSYS, found = process_start(id.pid) == id.start;
  if (refused && found) by_number_ = id;
  if (descriptor_ < 0 || found) return;
  ::close(descriptor_);
  descriptor_ = -1;
}

HeldProcess::~HeldProcess() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

HeldProcess::HeldProcess(HeldProcess&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), by_number_(std::exchange(other.by_number_, {})) {}

bool HeldProcess::send(int signal) const {
  if (by_number_.pid > 0)
    return process_start(by_number_.pid) == by_number_.start && ::kill(static_cast<pid_t>(by_number_.pid), signal) == 0;
  return found() && ::syscall(pidfd_send_signal, descriptor_, signal, nullptr, 0) == 0;
}

bool HeldProcess::ends_within(double seconds) const {
  if (!found()) return true;
  const double until = base::monotonic_seconds() + seconds;
  while (by_number_.pid > 0) {
    if (process_start(by_number_.pid) != by_number_.start) return true;
    if (base::monotonic_seconds() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (;;) {
    pollfd polled{descriptor_, POLLIN, 0};
    const double left = std::max(0.0, until - base::monotonic_seconds());
    const int ready = ::poll(&polled, 1, static_cast<int>(left * 1000));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

static constexpr const char* by_the_system = "/proc/self/exe";

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink(by_the_system, error);
  if (!error) return path.string();
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));  // where there is no /proc
  const std::filesystem::path found = std::filesystem::canonical(started_as == nullptr ? "" : started_as, error);
  if (!error) return found.string();
  throw base::ConfigError(base::say("this program cannot find its own path, because /proc is missing: mount it, as in `mount -t proc proc /proc`, or start troika by its full path"));
}

std::string running_program() {
  return ::access(by_the_system, X_OK) == 0 ? by_the_system : own_program();
}

// Up to the end of the last whole character.
static std::string first_bytes(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = 0;
  for (std::size_t next = 0; next <= most;
       next += std::max<std::size_t>(1, base::utf8_character_bytes(std::string_view(text).substr(next))))
    end = next;
  return text.substr(0, end);
}

void leave_termination_message(const std::string& text, const std::string& path) {
  constexpr std::size_t shown_bytes = 4096;
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && ::ftruncate(file, 0) == 0) {
    const std::string message = first_bytes(text, shown_bytes);
    [[maybe_unused]] const ssize_t written = ::write(file, message.data(), message.size());
  }
  ::close(file);
}

}  // namespace troika::host
