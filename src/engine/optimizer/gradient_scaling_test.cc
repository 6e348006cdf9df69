#include "optimizer/gradient_scaling.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika::optimizer {
namespace {

using Step = LossScale::Step;

config::PrecisionSettings fp16(std::int64_t window) {
  config::PrecisionSettings settings;
  settings.compute = config::Precision::fp16;
  settings.loss_scale_window = window;
  return settings;
}

TEST(LossScale, StartsAt65536DoublesAfterTheWindowAndHalvesOnOverflow) {
  LossScale scale(fp16(3));
  EXPECT_EQ(scale.scale(), 65536);
  for (int i = 0; i < 3; ++i) scale.update(Step::good);
  EXPECT_EQ(scale.scale(), 131072);
  EXPECT_EQ(scale.good_steps(), 0);
  scale.update(Step::good);
  scale.update(Step::overflowed);
  EXPECT_EQ(scale.scale(), 65536);
  EXPECT_EQ(scale.good_steps(), 0);
}

TEST(LossScale, AnOverflowAtTheSmallestScaleIsRefusedWithARemedy) {
  auto settings = fp16(10);
  settings.loss_scale = 2;
  LossScale scale(settings);
  scale.update(Step::overflowed);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_THROW(scale.update(Step::overflowed), base::ConfigError);
}

TEST(LossScale, IsOneForOtherTypesWhateverHappens) {
  LossScale scale(config::PrecisionSettings{});
  scale.update(Step::overflowed);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_FALSE(scale.dynamic());
}

TEST(LossScale, GoesOnWhereACheckpointLeftIt) {
  LossScale scale(fp16(5));
  scale.restore(512, 4);
  scale.update(Step::good);
  EXPECT_EQ(scale.scale(), 1024);
}

}  // namespace

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
