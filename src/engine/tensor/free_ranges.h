// Ranges of address space that nobody uses: found by size, joined with their neighbours. Bookkeeping only, no memory is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace troika::tensor {

struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;  // 0: no range
};

// Not safe for several threads at once.
class FreeRanges {
 public:
  // The next `ranges` calls of add() will need no memory, nor will calls of take() and take_largest() among them.
  void reserve(std::size_t ranges);

  // Must not overlap a range that is here.
  void add(Range range);

  // The first `bytes` of the smallest range that has them (best fit; of equals the lowest). No range when none has.
  Range take(std::size_t bytes);

  // The largest piece that begins and ends at multiples of `alignment`, at most `bytes` (a multiple of it) of it. No range
  // when nothing free covers such a piece.
  Range take_aligned(std::size_t bytes, std::size_t alignment);

  Range take_largest();

  std::size_t bytes() const { return bytes_; }

 private:
  void insert(Range range);
  void erase(Range range);
  void cut(Range whole, Range piece);

  using ByPlace = std::map<std::uintptr_t, std::size_t>;
  using BySize = std::set<std::pair<std::size_t, std::uintptr_t>>;
  struct Nodes {
    ByPlace::node_type place;
    BySize::node_type size;
  };

  ByPlace by_place_;
  BySize by_size_;
  std::vector<Nodes> spare_;  // of ranges that are gone; has room for all nodes there are
  std::size_t bytes_ = 0;
};

}  // namespace troika::tensor
