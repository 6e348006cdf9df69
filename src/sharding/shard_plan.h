// How a flat buffer is shared out over the ranks that hold it: contiguous ranges of whole chunks, so that the squares
// of the gradient norm, which are summed chunk by chunk, are the same whoever owns which range.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/range.h"

namespace troika::sharding {

// A chunk is up to kernels::norm_chunk consecutive elements of one part (one named tensor) of the buffer, counted from
// the part's begin. A value; the same on every rank.
class ShardPlan {
 public:
  // `part_elements`: the parts of the buffer in order.
  ShardPlan(const std::vector<std::int64_t>& part_elements, int replicas);

  int replicas() const { return static_cast<int>(first_chunk_.size()) - 1; }
  std::int64_t elements() const { return chunk_begin_.back(); }
  std::int64_t chunks() const { return static_cast<std::int64_t>(chunk_begin_.size()) - 1; }

  Range elements_of(int replica) const;  // about elements / replicas; may be empty
  Range chunks_of(int replica) const;
  Range chunks_of_part(std::size_t part) const;
  // The elements of a part that lie in the replica's range, relative to the buffer.
  Range elements_of_part(std::size_t part, int replica) const;

 private:
  std::vector<std::int64_t> chunk_begin_;       // element offsets; one more: the end
  std::vector<std::int64_t> part_first_chunk_;  // one more: the end
  std::vector<std::int64_t> first_chunk_;       // by replica; one more: the end
};

}  // namespace troika::sharding
