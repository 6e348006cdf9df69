#include "checkpoint/room.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "base/host_name.h"
#include "base/units.h"

namespace troika::checkpoint {

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return -1;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

std::string missing_room(const std::string& root, std::int64_t bytes) {
  const std::int64_t free = free_bytes(root);
  if (free < 0 || free >= bytes) return "";
  return fmt::format(
      "'{}' on {} has {} free and the next checkpoint needs {} there: free {}, lower --checkpoint.keep, or it cannot "
      "be "
      "saved",
      root, base::host_name(), base::format_bytes(free), base::format_bytes(bytes), base::format_bytes(bytes - free));
}

}  // namespace troika::checkpoint
