// Consecutive elements, rows or heads, and how a count of them is cut evenly.
#pragma once

#include <cstdint>

namespace troika::shape {

struct Range {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
};

// Part `rank` of `size`: [total * rank / size, total * (rank + 1) / size). Empty where size > total.
inline Range part_of(std::int64_t total, int rank, int size) {
  const std::int64_t begin = total * rank / size;
  return {begin, total * (rank + 1) / size - begin};
}

}  // namespace troika::shape
