// The second copy of each rank's parts: on another disk, so that the folder of any one host may be lost.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "checkpoint/disks.h"
#include "checkpoint/manifest.h"
#include "comm/channel.h"

namespace troika::checkpoint {

// The second copy of one rank's parts. writing: `rank` holds the same tensors and writes them itself. sending: it
// receives the files.
struct SecondCopy {
  enum class By { nobody, writing, sending } by = By::nobody;
  int rank = -1;
};

struct Copies {
  std::vector<SecondCopy> of;   // per rank; empty: parts have one copy
  double bytes_per_second = 0;  // that one rank may send; 0: as fast as it goes

  bool any() const { return !of.empty(); }
  // The rank whose parts this one writes as well; -1: none.
  int written_by(int rank) const;
};

// `twin_of`: per rank the one that writes what it holds as well, or itself. No copies where all ranks share one disk. What is
// sent goes to the next disk, its ranks in turn.
Copies plan_copies(const Disks& disks, const std::vector<int>& twin_of);

// Sends the second copies of parts that no rank of another disk could write itself, at a bounded rate. Collective. `folder` is the checkpoint's on this host, complete with one copy of each part; `parts[rank]` those of each rank, which
// are in its folder. A copy appears under its name when it has the part's hash. What fails is told and costs the copy alone: one
// sentence each, equal on all ranks. PeerError as of the channel. Memory: 256 KiB for each rank that sends here.
std::vector<base::Text> send_copies(const std::string& folder, const Copies& copies,
                                    const std::vector<std::vector<Part>>& parts, comm::Channel& world);

}  // namespace troika::checkpoint
