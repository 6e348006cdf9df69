#include "base/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace troika::base {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  number_ = other.release();
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::close() {
  if (number_ >= 0) ::close(release());
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::optional<std::string> read_to_end(const Descriptor& from, double seconds, std::size_t most_bytes) {
  std::string text;
  const double until = monotonic_seconds() + seconds;
  while (text.size() <= most_bytes) {
    pollfd polled{from.number(), POLLIN, 0};
    const double left = until - monotonic_seconds();
    if (left <= 0) return std::nullopt;
    const int ready = ::poll(&polled, 1, static_cast<int>(1000 * left) + 1);
    if (ready == 0) return std::nullopt;
    char bytes[4096];
    const ssize_t count = ready < 0 ? -1 : ::read(from.number(), bytes, sizeof bytes);
    if (count == 0) return text;
    if (count > 0) text.append(bytes, static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace troika::base
