#include "optimizer/loss_scale.h"

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
}  // namespace troika::optimizer
