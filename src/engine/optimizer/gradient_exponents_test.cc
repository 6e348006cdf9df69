#include "optimizer/gradient_exponents.h"

#include <gtest/gtest.h>

namespace troika::optimizer {
namespace {

using Values = std::vector<int>;

TEST(GradientExponents, BeginAtSevenAndTakeTheFirstGradientWithItsHeadroom) {
  GradientExponents e({"a", "b"});
  EXPECT_EQ(e.values(), (Values{7, 7}));
  e.follow({-3, -8}, 1);
  EXPECT_EQ(e.values(), (Values{7, 2}));
}

TEST(GradientExponents, RiseAtOnceAndFallByABitInSixteenSteps) {
  GradientExponents e({"a"});
  e.follow({0}, 1);
  e.follow({5}, 2);
  EXPECT_EQ(e.values(), (Values{15}));
  for (int step = 3; step <= 32; ++step) e.follow({0}, step);
  EXPECT_EQ(e.values(), (Values{13}));
}

TEST(GradientExponents, AParameterWithoutGradientKeepsItsExponent) {
  GradientExponents e({"a", "b"});
  e.follow({0, no_gradient}, 16);
  EXPECT_EQ(e.values(), (Values{10, 7}));
  EXPECT_EQ(e.by_name(), (std::map<std::string, int>{{"a", 10}}));
}

TEST(GradientExponents, NoneFallsTwentyBelowTheLargest) {
  GradientExponents e({"a", "b"});
  e.follow({10, -40}, 1);
  EXPECT_EQ(e.values(), (Values{20, 0}));
}

TEST(GradientExponents, ARepeatedStepFindsItsGradientsWithinRange) {
  GradientExponents e({"a", "b"});
  e.follow({0, 0}, 1);
  e.raise({20, -5});
  EXPECT_EQ(e.values(), (Values{30, 10}));
}

TEST(GradientExponents, AreRestoredByName) {
  GradientExponents e({"a", "b"}), other({"b", "c"});
  e.follow({1, 2}, 1);
  other.restore(e.by_name());
  EXPECT_EQ(other.values(), (Values{12, 7}));
}

}  // namespace
}  // namespace troika::optimizer
