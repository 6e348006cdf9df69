// The fixed binary tree over the global microbatch index by which every sum of a step is made, whoever holds which
// leaves. Node (level, index) covers leaves [index * 2^level, (index + 1) * 2^level); leaves beyond the count are
// absent and a node with one child is that child.
#pragma once

#include <cstdint>
#include <vector>

namespace troika::shape {

struct Block {
  int level = 0;
  std::int64_t index = 0;

  bool is_left() const { return index % 2 == 0; }
  Block parent() const { return {level + 1, index / 2}; }
  std::int64_t begin() const { return index << level; }
  std::int64_t end() const { return (index + 1) << level; }
  bool operator==(const Block& o) const { return level == o.level && index == o.index; }
};

// The largest nodes that lie wholly within [begin, end), ascending: [0, 6) = [0,4) [4,6).
std::vector<Block> blocks_of_share(std::int64_t begin, std::int64_t end);

// The same tree over plain numbers (losses, squares). 0 when empty.
double tree_sum(const std::vector<double>& leaves);

}  // namespace troika::shape
