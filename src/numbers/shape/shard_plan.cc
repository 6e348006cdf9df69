#include "shape/shard_plan.h"

#include <algorithm>

#include "base/error.h"

namespace troika::shape {

// The last part whose entry in `begins` (one more than there are parts) is at most `value`.
static std::size_t part_at(const std::vector<std::int64_t>& begins, std::int64_t value) {
  const auto next = std::upper_bound(begins.begin(), begins.end() - 1, value);
  return next == begins.begin() ? 0 : static_cast<std::size_t>(next - begins.begin()) - 1;
}

ShardPlan::ShardPlan(const std::vector<std::int64_t>& part_elements, int replicas, Division division) {
  for (const std::int64_t elements : part_elements) {
    part_begin_.push_back(part_begin_.back() + elements);
    part_first_chunk_.push_back(part_first_chunk_.back() + (elements + norm_chunk - 1) / norm_chunk);
  }
  // Each replica begins at the boundary nearest to an even share of the elements.
  first_chunk_.push_back(0);
  for (int replica = 1; replica < replicas; ++replica)
    first_chunk_.push_back(nearest_boundary(elements() * replica / replicas, division));
  first_chunk_.push_back(chunks());
}

std::int64_t ShardPlan::begin_of_chunk(std::int64_t chunk) const {
  const std::size_t part = part_at(part_first_chunk_, chunk);
  return std::min(part_begin_[part] + (chunk - part_first_chunk_[part]) * norm_chunk, elements());
}

std::int64_t ShardPlan::nearest_chunk(std::int64_t element) const {
  const std::size_t part = part_at(part_begin_, element);
  const std::int64_t below = part_first_chunk_[part] + (element - part_begin_[part]) / norm_chunk;
  const bool up = begin_of_chunk(below + 1) - element < element - begin_of_chunk(below);
  return below + (up ? 1 : 0);
}

std::int64_t ShardPlan::nearest_boundary(std::int64_t element, Division division) const {
  switch (division) {
    case Division::by_range:
      return nearest_chunk(element);
  }
  throw base::BugError("a division of a buffer without boundaries");
}

Range ShardPlan::chunks_of(int replica) const {
  const std::int64_t first = first_chunk_.at(static_cast<std::size_t>(replica));
  return {first, first_chunk_.at(static_cast<std::size_t>(replica) + 1) - first};
}

Range ShardPlan::elements_of(int replica) const {
  const Range chunks = chunks_of(replica);
  const std::int64_t begin = begin_of_chunk(chunks.begin);
  return {begin, begin_of_chunk(chunks.end()) - begin};
}

Range ShardPlan::chunks_of_part(std::size_t part) const {
  return {part_first_chunk_.at(part), part_first_chunk_.at(part + 1) - part_first_chunk_.at(part)};
}

ShardPlan shard_plan(const SegmentLayout& layout, int replicas, Division division) {
  std::vector<std::int64_t> parts;
  for (const Slot& slot : layout.slots) parts.push_back(slot.elements());
  return {parts, replicas, division};
}

OptimizerShape shape_of(config::Optimizer optimizer) {
  switch (optimizer) {
    case config::Optimizer::adamw:
      return {{{"adam_m", "the first moment (adam_m)"}, {"adam_v", "the second moment (adam_v)"}}};
  }
  throw base::BugError("an optimizer without a shape");
}

}  // namespace troika::shape
