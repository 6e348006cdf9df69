// Whether a disk has room for a checkpoint.
#pragma once

#include <cstdint>
#include <string>

namespace troika::checkpoint {

// Free bytes of the file system that holds `folder`, for this user; -1 where it does not say.
std::int64_t free_bytes(const std::string& folder);

// A sentence when fewer than `bytes` are free below `root` on this host; else "".
std::string missing_room(const std::string& root, std::int64_t bytes);

}  // namespace troika::checkpoint
