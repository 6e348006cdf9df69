#include "base/whole_write.h"

#include <unistd.h>

#include <cerrno>

namespace troika::base {
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
