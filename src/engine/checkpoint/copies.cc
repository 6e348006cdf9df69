#include "checkpoint/copies.h"

#include <algorithm>
#include <set>

namespace troika::checkpoint {

int Copies::written_by(int rank) const {
  for (std::size_t other = 0; other < of.size(); ++other)
    if (of[other].by == SecondCopy::By::writing && of[other].rank == rank) return static_cast<int>(other);
  return -1;
}

namespace {

// A rank of the disk after this rank's.
int rank_of_next_disk(const Disks& disks, int rank) {
  const std::set<int> leaders(disks.leader.begin(), disks.leader.end());
  auto next = leaders.upper_bound(disks.leader[static_cast<std::size_t>(rank)]);
  if (next == leaders.end()) next = leaders.begin();
  const std::vector<int> mine = disks.members(rank), theirs = disks.members(*next);
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  return theirs[place % theirs.size()];
}

}  // namespace

Copies plan_copies(const Disks& disks, const std::vector<int>& twin_of) {
  Copies copies;
  const std::set<int> leaders(disks.leader.begin(), disks.leader.end());
  if (leaders.size() < 2) return copies;
  copies.of.resize(twin_of.size());
  for (std::size_t rank = 0; rank < twin_of.size(); ++rank) {
    const auto writer = static_cast<std::size_t>(twin_of[rank]);
    if (writer == rank || copies.of[writer].by != SecondCopy::By::nobody) continue;
    if (disks.leader[rank] != disks.leader[writer])
      copies.of[writer] = {SecondCopy::By::writing, static_cast<int>(rank)};
  }
  for (std::size_t rank = 0; rank < copies.of.size(); ++rank) {
    const bool writes = twin_of[rank] == static_cast<int>(rank);
    if (writes && copies.of[rank].by == SecondCopy::By::nobody)
      copies.of[rank] = {SecondCopy::By::sending, rank_of_next_disk(disks, static_cast<int>(rank))};
  }
  return copies;
}

}  // namespace troika::checkpoint
