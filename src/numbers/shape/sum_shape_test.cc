#include "shape/sum_shape.h"

#include <gtest/gtest.h>

namespace troika::shape {
namespace {

SumShape shape_of(const std::vector<std::int64_t>& shares, int cp = 1, int uses = 1) {
  SumShape shape;
  shape.place = {static_cast<int>(shares.size()), cp, 0, 0};
  shape.shares = shares;
  shape.uses = uses;
  return shape;
}

TEST(SumShape, CountsTheLeavesOfAllReplicasAndUses) {
  EXPECT_EQ(shape_of({9, 3}).all_leaves(), 12);
  EXPECT_EQ(shape_of({9, 3}, 2).all_leaves(), 24);
  EXPECT_EQ(shape_of({5, 2, 5}, 1, 2).all_leaves(), 24);
  SumShape both = shape_of({9, 3}, 1, 2);
  both.uses_here = 2;
  EXPECT_EQ(both.leaves_of(0), 18);
  EXPECT_EQ(both.leaves_of(1), 6);
}

// All leaves just below 2^E then sum to less than 2^61, and to more than half of it where L is a power of two.
TEST(SumShape, TheGridHasRoomForExactlySoManyLeaves) {
  for (const auto& [leaves, bits] : std::vector<std::pair<std::int64_t, int>>{
           {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {12, 4}, {16, 4}, {17, 5}, {1024, 10}, {1025, 11}})
    EXPECT_EQ(grid_shift(shape_of({leaves}), 7), 61 - 7 - bits) << leaves;
  EXPECT_EQ(grid_shift(shape_of({4, 4}, 2), -20), 61 + 20 - 4);
  EXPECT_EQ(grid_shift(shape_of({4, 4}, 2, 2), -20), 61 + 20 - 5);
}

TEST(SumShape, OneLeafIsSharedInFp32AndTwoAreAddedInIt) {
  EXPECT_TRUE(shape_of({1, 1}).in_floats());
  EXPECT_FALSE(shape_of({1, 1}, 1, 2).in_floats());
  EXPECT_FALSE(shape_of({1, 11}).in_floats());
  EXPECT_TRUE(shape_of({1, 11}).shares_floats(0));
  EXPECT_FALSE(shape_of({1, 11}).shares_floats(1));
}

}  // namespace
}  // namespace troika::shape
