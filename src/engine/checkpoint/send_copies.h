// Second copies of parts that no rank of another disk could write itself: sent, at a bounded rate.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/copies.h"
#include "checkpoint/facts.h"
#include "comm/channel.h"

namespace troika::checkpoint {

// Collective. `folder` is the checkpoint's on this host, complete with one copy of each part; `parts[rank]` those of each rank, which
// are in its folder. A copy appears under its name when it has the part's hash. What fails is told and costs the copy alone: one
// sentence each, equal on all ranks. PeerError as of the channel. Memory: 256 KiB for each rank that sends here.
std::vector<std::string> send_copies(const std::string& folder, const Copies& copies,
                                     const std::vector<std::vector<Part>>& parts, comm::Channel& world);

}  // namespace troika::checkpoint
