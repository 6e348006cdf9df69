#include "base/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

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

namespace {

template <class Write>
int write_all_by(std::string_view content, const Write& write) {
  while (!content.empty()) {
    const ssize_t written = write(content);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int write_whole(int descriptor, std::string_view content) {
  return write_all_by(content,
                      [&](std::string_view left) { return ::write(descriptor, left.data(), left.size()); });
}

int write_whole_at(int descriptor, std::string_view content, std::int64_t offset) {
  const std::size_t all = content.size();
  return write_all_by(content, [&](std::string_view left) {
    return ::pwrite(descriptor, left.data(), left.size(), offset + static_cast<std::int64_t>(all - left.size()));
  });
}

int sync_whole(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

}  // namespace troika::base
