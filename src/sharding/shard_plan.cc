#include "sharding/shard_plan.h"

#include <algorithm>

#include "kernels/flat.h"

namespace troika::sharding {

ShardPlan::ShardPlan(const std::vector<std::int64_t>& part_elements, int replicas) {
  std::int64_t offset = 0;
  for (const std::int64_t elements : part_elements) {
    part_first_chunk_.push_back(static_cast<std::int64_t>(chunk_begin_.size()));
    for (std::int64_t begin = 0; begin < elements; begin += kernels::norm_chunk) chunk_begin_.push_back(offset + begin);
    offset += elements;
  }
  part_first_chunk_.push_back(static_cast<std::int64_t>(chunk_begin_.size()));
  chunk_begin_.push_back(offset);

  // Each border is the chunk border nearest to an even share of the elements.
  first_chunk_.push_back(0);
  for (int replica = 1; replica < replicas; ++replica) {
    const std::int64_t ideal = offset * replica / replicas;
    const auto above = std::lower_bound(chunk_begin_.begin(), chunk_begin_.end(), ideal);
    const bool down = above != chunk_begin_.begin() && ideal - *(above - 1) <= *above - ideal;
    first_chunk_.push_back(above - chunk_begin_.begin() - (down ? 1 : 0));
  }
  first_chunk_.push_back(chunks());
}

Range ShardPlan::chunks_of(int replica) const {
  const std::int64_t first = first_chunk_.at(static_cast<std::size_t>(replica));
  return {first, first_chunk_.at(static_cast<std::size_t>(replica) + 1) - first};
}

Range ShardPlan::elements_of(int replica) const {
  const Range chunks = chunks_of(replica);
  const std::int64_t begin = chunk_begin_[static_cast<std::size_t>(chunks.begin)];
  return {begin, chunk_begin_[static_cast<std::size_t>(chunks.begin + chunks.count)] - begin};
}

Range ShardPlan::chunks_of_part(std::size_t part) const {
  return {part_first_chunk_.at(part), part_first_chunk_.at(part + 1) - part_first_chunk_.at(part)};
}

Range ShardPlan::elements_of_part(std::size_t part, int replica) const {
  const Range mine = chunks_of(replica), of_part = chunks_of_part(part);
  const std::int64_t first = std::clamp(mine.begin, of_part.begin, of_part.begin + of_part.count);
  const std::int64_t end = std::clamp(mine.begin + mine.count, of_part.begin, of_part.begin + of_part.count);
  const std::int64_t begin = chunk_begin_[static_cast<std::size_t>(first)];
  return {begin, chunk_begin_[static_cast<std::size_t>(end)] - begin};
}

}  // namespace troika::sharding
