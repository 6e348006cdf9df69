#include "commands/doctor/standard_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"

namespace troika::commands {

void StandardLines::say(const std::string& line) {
  const std::string whole = line + "\n";
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t count = ::write(out_, whole.data() + done, whole.size() - done);
    if (count < 0 && errno != EINTR) return;
    done += static_cast<std::size_t>(std::max<ssize_t>(0, count));
  }
}

std::optional<std::string> StandardLines::hear(double until) {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const double left = until - base::monotonic_seconds();
    pollfd polled{in_, POLLIN, 0};
    if (left <= 0 || (::poll(&polled, 1, static_cast<int>(1000 * left) + 1) < 0 && errno != EINTR)) return std::nullopt;
    if (polled.revents == 0) continue;
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(in_, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return std::nullopt;
    unread_.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  }
}

}  // namespace troika::commands
