// Which ranks see the same folder, and whether it has room. A shared disk is detected, never assumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"

namespace troika::checkpoint {

// Ranks that see one folder form a disk; its leader is its lowest rank.
struct Disks {
  std::vector<int> leader;  // per rank

  bool leads(int rank) const { return leader[static_cast<std::size_t>(rank)] == rank; }
  std::vector<int> members(int rank) const;  // the ranks on rank's disk, ascending
};

// Collective. Every rank puts a small file with a fresh random name into its `folder` and looks for the others' files;
// two ranks that find each other's, or whose folder is one inode of one running kernel, share the disk. The files are
// removed before it returns. A folder that is absent or read-only is told apart by the inode alone.
Disks detect_disks(const std::string& folder, comm::Channel& world);

bool is_disk_token(const std::string& file_name);

// Free bytes of the file system that holds `folder`, for this user; -1 where it does not say.
std::int64_t free_bytes(const std::string& folder);

// A sentence when fewer than `bytes` are free below `root` on this host; else nothing.
base::Text missing_room(const std::string& root, std::int64_t bytes);

}  // namespace troika::checkpoint
