#include "optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <vector>

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

std::vector<double> rates(const config::OptimizerSettings& s, std::int64_t steps) {
  std::vector<double> all;
  for (std::int64_t step = 1; step <= steps; ++step) all.push_back(learning_rate(s, step, steps));
  return all;
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-18) << "step " << i + 1;
}

// The values of transformers 5: the lambda of each schedule at 0 to 9, times 1e-3. Equal but for the last bits.
TEST(LearningRate, AtTheStartOfAStepItIsThatOfTransformers) {
  auto s = settings("linear", 0);
  s.lr_at = config::LrAt::start;
  s.min_lr = 0;
  expect_rates(rates(s, 10), {1e-3, 9e-4, 8e-4, 7e-4, 6e-4, 5e-4, 4e-4, 3e-4, 2e-4, 1e-4});
  s.warmup_steps = 3;
  expect_rates(rates(s, 10), {0, 1e-3 / 3, 2e-3 / 3, 1e-3, 6e-3 / 7, 5e-3 / 7, 4e-3 / 7, 3e-3 / 7, 2e-3 / 7, 1e-3 / 7});
  s.lr_schedule = config::LrSchedule::cosine;
  expect_rates(rates(s, 10),
               {0, 1e-3 / 3, 2e-3 / 3, 1e-3, 0.00095048443395120952, 0.00081174490092936679, 0.00061126046697815718,
                0.00038873953302184284, 0.00018825509907063325, 4.9515566048790485e-05});
  s.lr_schedule = config::LrSchedule::constant;
  expect_rates(rates(s, 5), {0, 1e-3 / 3, 2e-3 / 3, 1e-3, 1e-3});
  EXPECT_EQ(learning_rate(settings("linear", 0), 1, 1), 1e-4);
}

TEST(LearningRate, WarmupStableDecayIsThatOfTransformers) {
  auto s = settings("wsd", 3);
  s.lr_at = config::LrAt::start;
  s.decay_steps = 4;
  expect_rates(rates(s, 10), {1e-4, 4e-4, 7e-4, 1e-3, 1e-3, 1e-3, 1e-3, 7.75e-4, 5.5e-4, 3.25e-4});
  s.decay = config::LrDecay::cosine;
  expect_rates(rates(s, 10), {1e-4, 4e-4, 7e-4, 1e-3, 1e-3, 1e-3, 1e-3, 0.00086819805153394642, 5.5e-4,
                              0.00023180194846605365});
  s.decay = config::LrDecay::sqrt;
  expect_rates(rates(s, 10), {1e-4, 4e-4, 7e-4, 1e-3, 1e-3, 1e-3, 1e-3, 5.5e-4, 0.00036360389693210714,
                              0.00022057713659400527});
}

TEST(LearningRate, WarmupStableDecayEndsAtTheFloorAndABranchHasTheStableRatesOfItsTrunk) {
  auto s = settings("wsd", 2);
  s.decay_steps = 3;
  expect_rates(rates(s, 8), {5e-4, 1e-3, 1e-3, 1e-3, 1e-3, 7e-4, 4e-4, 1e-4});
  const auto trunk = rates(s, 100);
  for (const std::int64_t steps : {5, 20, 97}) {
    const auto branch = rates(s, steps);
    for (std::int64_t step = 1; step <= steps - 3; ++step)
      EXPECT_EQ(branch[static_cast<std::size_t>(step) - 1], trunk[static_cast<std::size_t>(step) - 1]);
    EXPECT_DOUBLE_EQ(branch.back(), 1e-4);
  }
}

TEST(LearningRate, StepsThatTrainNothingAreKnown) {
  auto s = settings("linear", 0);
  EXPECT_FALSE(changes_nothing(s, 1, 1, 1));
  s.min_lr = 0;
  EXPECT_TRUE(changes_nothing(s, 1, 1, 1));
  EXPECT_TRUE(changes_nothing(s, 8, 8, 8));
  EXPECT_FALSE(changes_nothing(s, 7, 8, 8));
  s.lr_at = config::LrAt::start;
  EXPECT_FALSE(changes_nothing(s, 1, 1, 1));
  s.warmup_steps = 1;
  EXPECT_TRUE(changes_nothing(s, 1, 1, 1));
  s.lr = 0;
  EXPECT_TRUE(changes_nothing(s, 1, 1000000000000, 1000000000000));
}

}  // namespace
}  // namespace troika::optimizer
