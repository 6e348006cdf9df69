// Writes and syncs all bytes or throws with the reason: a short write is not a success, yet sets no errno.
#pragma once

#include <cstdint>
#include <string_view>

namespace troika::base {

// 0, or the errno of what stopped it: ENOSPC where the disk takes nothing more and names no cause.
int write_whole(int descriptor, std::string_view content);
int write_whole_at(int descriptor, std::string_view content, std::int64_t offset);

// 0, or the errno. File systems that do not sync (EINVAL, ENOTSUP) have nothing to add.
int sync_whole(int descriptor);

}  // namespace troika::base
