// Who adds up which gradients of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "shape/tree.h"

namespace troika::shape {

// Where a rank stands among the ranks that hold the same parameters.
struct ReplicaPlace {
  int dp = 1, cp = 1, dp_rank = 0, cp_rank = 0;

  int count() const { return dp * cp; }
  int index() const { return cp_rank * dp + dp_rank; }  // rank in the replicas' channel
};

// at_end: a rank adds up its own leaves, whole, and shares the partial sums out once. Its microbatches are contiguous;
// the leaf of microbatch m is number cp_rank * M + m of cp * M.
// every_round: each leaf is reduce-scattered at once and every owner adds up its range of all leaves. Microbatches go round
// robin (m % dp); the leaf is number m * cp + cp_rank.
// Without context parallel these are the same tree.
enum class Sharing { at_end, every_round };

struct SumShape {
  std::int64_t microbatches = 1;  // M: of all data-parallel ranks, a multiple of dp
  ReplicaPlace place;
  Sharing sharing = Sharing::at_end;

  std::int64_t share() const { return microbatches / place.dp; }  // microbatches of one rank
  // at_end: the blocks of the tree that a replica's leaves make up.
  std::vector<Block> blocks_of(int replica) const {
    return blocks_of_share(share() * replica, share() * (replica + 1));
  }
  // every_round: the leaf that a replica brings to a round; by ascending dp rank, then cp rank, the leaves ascend.
  std::int64_t leaf_of_round(std::int64_t round, int dp_rank, int cp_rank) const {
    return round * place.count() + static_cast<std::int64_t>(dp_rank) * place.cp + cp_rank;
  }
};

}  // namespace troika::shape
