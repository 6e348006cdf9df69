#include "shape/tree.h"

namespace troika::shape {

std::vector<Block> blocks_of_share(std::int64_t begin, std::int64_t end) {
  std::vector<Block> blocks;
  while (begin < end) {
    Block block{0, begin};
    while (block.is_left() && block.parent().end() <= end) block = block.parent();
    blocks.push_back(block);
    begin = block.end();
  }
  return blocks;
}

static double sum_of(const std::vector<double>& leaves, std::size_t begin, std::size_t width) {
  if (width == 1) return leaves[begin];
  const double left = sum_of(leaves, begin, width / 2);
  return begin + width / 2 < leaves.size() ? left + sum_of(leaves, begin + width / 2, width / 2) : left;
}

double tree_sum(const std::vector<double>& leaves) {
  if (leaves.empty()) return 0;
  std::size_t width = 1;
  while (width < leaves.size()) width *= 2;
  return sum_of(leaves, 0, width);
}

}  // namespace troika::shape
