// Ranges of address space that nobody uses: found by size, joined with their neighbours. Bookkeeping only, no memory is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace troika::tensor {

struct Range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;  // 0: no range
};

// Not safe for several threads at once.
class FreeRanges {
 public:
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

  std::map<std::uintptr_t, std::size_t> by_place_;
  std::set<std::pair<std::size_t, std::uintptr_t>> by_size_;
  std::size_t bytes_ = 0;
};

}  // namespace troika::tensor
