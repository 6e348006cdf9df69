#include "tensor/free_ranges.h"

#include <algorithm>
#include <iterator>

namespace troika::tensor {

void FreeRanges::reserve(std::size_t ranges) {
  if (spare_.size() >= ranges) return;
  const std::size_t needed = by_place_.size() + ranges;
  if (spare_.capacity() < needed) spare_.reserve(2 * needed);
  while (spare_.size() < ranges) {
    ByPlace place{{0, 0}};
    BySize size{{0, 0}};
    spare_.push_back({place.extract(place.begin()), size.extract(size.begin())});
  }
}

void FreeRanges::insert(Range range) {
  if (range.bytes == 0) return;
  reserve(1);
  Nodes nodes = std::move(spare_.back());
  spare_.pop_back();
  nodes.place.key() = range.begin;
  nodes.place.mapped() = range.bytes;
  nodes.size.value() = {range.bytes, range.begin};
  by_place_.insert(std::move(nodes.place));
  by_size_.insert(std::move(nodes.size));
  bytes_ += range.bytes;
}

void FreeRanges::erase(Range range) {
  spare_.push_back({by_place_.extract(range.begin), by_size_.extract({range.bytes, range.begin})});
  bytes_ -= range.bytes;
}

void FreeRanges::cut(Range whole, Range piece) {
  erase(whole);
  const std::uintptr_t end = piece.begin + piece.bytes;
  insert({whole.begin, piece.begin - whole.begin});
  insert({end, whole.begin + whole.bytes - end});
}

void FreeRanges::add(Range range) {
  const auto after = by_place_.lower_bound(range.begin);
  const Range next = after == by_place_.end() ? Range{} : Range{after->first, after->second};
  const Range previous =
      after == by_place_.begin() ? Range{} : Range{std::prev(after)->first, std::prev(after)->second};
  if (next.bytes > 0 && range.begin + range.bytes == next.begin) {
    erase(next);
    range.bytes += next.bytes;
  }
  if (previous.bytes > 0 && previous.begin + previous.bytes == range.begin) {
    erase(previous);
    range = {previous.begin, previous.bytes + range.bytes};
  }
  insert(range);
}

Range FreeRanges::take(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return {};
  const Range whole{found->second, found->first}, piece{whole.begin, bytes};
  cut(whole, piece);
  return piece;
}

Range FreeRanges::take_aligned(std::size_t bytes, std::size_t alignment) {
  for (auto it = by_size_.rbegin(); it != by_size_.rend(); ++it) {
    const Range whole{it->second, it->first};
    const std::uintptr_t begin = (whole.begin + alignment - 1) / alignment * alignment;
    const std::uintptr_t end = (whole.begin + whole.bytes) / alignment * alignment;
    if (end <= begin) continue;
    const Range piece{begin, std::min<std::size_t>(end - begin, bytes)};
    cut(whole, piece);
    return piece;
  }
  return {};
}

Range FreeRanges::take_largest() {
  if (by_size_.empty()) return {};
  const Range range{by_size_.rbegin()->second, by_size_.rbegin()->first};
  erase(range);
  return range;
}

}  // namespace troika::tensor
