// The ranks that see the same folder, and whether it has room. A shared disk is detected, never assumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"

namespace troika::checkpoint {

// Another one after every start of a host.
std::string running_kernel();

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

// Removing old checkpoints. Nothing is removed through a link: if a link replaces a folder, only the link is removed.
struct Kept {
  std::int64_t newest = 1;                 // so many
  std::vector<std::int64_t> besides = {};  // and these steps
};

// Gives back the room of saves that failed or were cut off: step-*.partial stays as an empty folder, which says that the step was
// never saved wherever another disk has its folder already. What cannot be removed stays. Only where no save is under way: by the
// leader of the disk.
void empty_unfinished(const std::string& root);

// Collective, after the manifest of `newest_step` is in place. Of the steps up to `newest_step` the newest with a manifest on any
// rank stay as `kept` says (`newest_step` always), all older ones go, with or without manifest; so do unfinished
// folders (step-*.partial) and what a killed detect_disks left; what cannot be removed stays. Folders of later steps are
// renamed to step-*.left. Each disk's leader acts for it. DataError on all ranks when a later one cannot be renamed.
void prune(const std::string& root, std::int64_t newest_step, const Kept& kept, const Disks& disks,
           comm::Channel& world);

}  // namespace troika::checkpoint
