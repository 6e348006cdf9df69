#include "shape/tree.h"

#include <gtest/gtest.h>

#include <cmath>

namespace troika::shape {
namespace {

TEST(Tree, AShareIsAFewAlignedBlocksThatCoverItOnce) {
  for (std::int64_t end = 1; end <= 70; ++end) {
    for (std::int64_t begin = 0; begin < end; ++begin) {
      std::int64_t at = begin;
      const auto blocks = blocks_of_share(begin, end);
      for (const Block& block : blocks) {
        EXPECT_EQ(block.begin(), at);
        at = block.end();
      }
      EXPECT_EQ(at, end);
      EXPECT_LE(static_cast<double>(blocks.size()), 2 * std::ceil(std::log2(static_cast<double>(end - begin + 1))));
    }
  }
}

TEST(Tree, SixOfTwelveIsFourAndTwo) {
  EXPECT_EQ(blocks_of_share(0, 6), (std::vector<Block>{{2, 0}, {1, 2}}));
  EXPECT_EQ(blocks_of_share(6, 12), (std::vector<Block>{{1, 3}, {2, 2}}));
}

TEST(Tree, NumbersAreAddedInTreeOrder) {
  const std::vector<double> x{1e16, 1, -1e16, 1, 3};
  EXPECT_EQ(tree_sum(x), ((1e16 + 1) + (-1e16 + 1)) + 3);
  EXPECT_EQ(tree_sum({}), 0);
  EXPECT_EQ(tree_sum({2.5}), 2.5);
}

}  // namespace
}  // namespace troika::shape
