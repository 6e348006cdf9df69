// Consecutive elements, rows or heads, and how a count of them is cut evenly.
#pragma once

#include <algorithm>
#include <cstdint>

namespace troika::shape {

struct Range {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
};

// What is in both; where nothing is, empty at the begin of `a`.
inline Range common(const Range& a, const Range& b) {
  const std::int64_t begin = std::max(a.begin, b.begin), end = std::min(a.end(), b.end());
  return begin < end ? Range{begin, end - begin} : Range{a.begin, 0};
}

// Part `rank` of `size`: [total * rank / size, total * (rank + 1) / size). Empty where size > total.
inline Range part_of(std::int64_t total, int rank, int size) {
  const std::int64_t begin = total * rank / size;
  return {begin, total * (rank + 1) / size - begin};
}

}  // namespace troika::shape
