// Removing old checkpoints. Nothing is removed through a link: if a link replaces a folder, only the link is removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/disks.h"
#include "comm/channel.h"

namespace troika::checkpoint {

struct Kept {
  std::int64_t newest = 1;                 // so many
  std::vector<std::int64_t> besides = {};  // and these steps
};

// Gives back the room of saves that failed or were cut off: step-*.partial stays as an empty folder, which says that the step was
// never saved wherever another disk has its folder already. What cannot be removed stays. Only where no save is under way: by the
// leader of the disk.
void empty_unfinished(const std::string& root);

// Collective, after the manifest of `newest_step` stands. Of the steps up to `newest_step` the newest with a manifest on any
// rank stay as `kept` says (`newest_step` always), all older ones go, with or without manifest; so do unfinished
// folders (step-*.partial) and what a killed detect_disks left; what cannot be removed stays. Folders of later steps are
// renamed to step-*.left. Each disk's leader acts for it. DataError on all ranks when a later one cannot be renamed.
void prune(const std::string& root, std::int64_t newest_step, const Kept& kept, const Disks& disks,
           comm::Channel& world);

}  // namespace troika::checkpoint
