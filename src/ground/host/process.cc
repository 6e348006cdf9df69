#include "host/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
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

}  // namespace troika::host
