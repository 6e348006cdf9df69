#include "optimizer/learning_rate.h"

#include <gtest/gtest.h>

namespace troika::optimizer {
namespace {

config::OptimizerSettings settings(const std::string& schedule, std::int64_t warmup) {
  config::OptimizerSettings s;
  s.lr = 1e-3;
  s.min_lr = 1e-4;
  s.lr_schedule = config::parse_word<config::LrSchedule>(schedule).value();
  s.warmup_steps = warmup;
  return s;
}

TEST(LearningRate, WarmsUpLinearlyToThePeak) {
  const auto s = settings("cosine", 10);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 100), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(s, 10, 100), 1e-3);
}

TEST(LearningRate, CosineAndLinearEndAtTheFloorAndPassTheMiddle) {
  for (const char* schedule : {"cosine", "linear"}) {
    const auto s = settings(schedule, 0);
    EXPECT_DOUBLE_EQ(learning_rate(s, 100, 100), 1e-4);
    EXPECT_NEAR(learning_rate(s, 50, 100), 5.5e-4, 1e-12);
  }
}

TEST(LearningRate, ConstantStaysAfterWarmUp) {
  EXPECT_DOUBLE_EQ(learning_rate(settings("constant", 5), 77, 100), 1e-3);
}

TEST(LearningRate, AFloorAboveThePeakIsThePeak) {
  auto s = settings("cosine", 0);
  s.lr = 1e-5;
  EXPECT_DOUBLE_EQ(learning_rate(s, 100, 100), 1e-5);
}

}  // namespace
}  // namespace troika::optimizer
