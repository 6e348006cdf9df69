#include "base/units.h"

#include "base/error.h"

namespace troika::base {

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheTwoThere) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_THROW(median({}), BugError);
  EXPECT_EQ(median_or({}, 7), 7);
  EXPECT_EQ(median_or({3, 1, 2}, 7), 2);
}

}  // namespace troika::base
