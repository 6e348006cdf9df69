#include "train/nonfinite_policy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace troika::train {
namespace {
using Action = NonfinitePolicy::Action;
using testing::HasSubstr;

executor::StepResult result_with(double loss) {
  executor::StepResult result;
  result.loss = loss;
  result.finite = std::isfinite(loss);
  return result;
}

const executor::StepResult good = result_with(2), bad = result_with(std::numeric_limits<double>::infinity());

TrainState state_in(config::Precision precision) {
  config::PrecisionSettings settings;
  settings.compute = precision;
  return {settings, {"w"}};
}

TEST(NonfinitePolicy, WithFp16TheStepIsSkippedAndTheLossScaleShrinks) {
  for (const auto on : {config::OnNonfinite::stop, config::OnNonfinite::skip, config::OnNonfinite::rollback}) {
    TrainState state = state_in(config::Precision::fp16);
    const double scale = state.loss_scale.scale();
    state.progress.step = 6;
    const auto verdict = NonfinitePolicy(on).judge(bad, &state);
    EXPECT_EQ(verdict.action, Action::skip);
    EXPECT_THAT(verdict.text.english, HasSubstr("step 7 overflows fp16"));
    EXPECT_LT(state.loss_scale.scale(), scale);
    EXPECT_EQ(verdict.numbers.at("loss_scale"), state.loss_scale.scale());
    EXPECT_EQ(state.progress.skipped, 1);
  }
}

TEST(NonfinitePolicy, SkipsAHundredStepsInARowAndStopsAtTheNext) {
  TrainState state = state_in(config::Precision::fp32);
  NonfinitePolicy policy(config::OnNonfinite::skip);
  for (int round = 0; round < 2; ++round) {  // a good step in between begins anew
    for (int i = 0; i < NonfinitePolicy::most_skipped_in_row; ++i)
      ASSERT_EQ(policy.judge(bad, &state).action, Action::skip);
    EXPECT_EQ(policy.judge(round == 0 ? good : bad, &state).action, round == 0 ? Action::accept : Action::stop);
  }
  EXPECT_EQ(state.progress.skipped, 2 * NonfinitePolicy::most_skipped_in_row);
}

TEST(NonfinitePolicy, StopsAtTheFirstWhereItIsAskedTo) {
  TrainState state = state_in(config::Precision::fp32);
  EXPECT_EQ(NonfinitePolicy(config::OnNonfinite::stop).judge(bad, &state).action, Action::stop);
  EXPECT_EQ(state.progress.skipped, 0);
  EXPECT_THAT(stopped_text(bad, 4, StateSaved::yes).english, HasSubstr("after step 5 the loss (inf)"));
  EXPECT_THAT(stopped_text(bad, 4, StateSaved::yes).english, HasSubstr(" (step 4 is saved);"));
  EXPECT_THAT(stopped_text(bad, 4, StateSaved::no).english, HasSubstr("is not finite; lower --lr"));
}

TEST(NonfinitePolicy, RollsBackTenTimesAndGoesOnBehindTheDataOfTheStep) {
  TrainState state = state_in(config::Precision::fp32);
  NonfinitePolicy policy(config::OnNonfinite::rollback);
  RunProgress saved;
  saved.step = 4;
  saved.samples = 40;
  for (int i = 0; i < NonfinitePolicy::most_rollbacks; ++i) {
    state.progress.step = 6;
    ASSERT_EQ(policy.judge(bad, &state).action, Action::roll_back);
    const RunProgress to = rolled_back(saved, state.progress, 10);
    EXPECT_EQ(to.step, 4);
    EXPECT_EQ(to.samples, state.progress.samples + 10);
    EXPECT_EQ(to.rolled_back, i + 1);
    state.progress = to;
  }
  EXPECT_EQ(policy.judge(bad, &state).action, Action::stop);
}

TEST(NonfinitePolicy, TheSentenceOfARollbackHasTheStepsAndTheSamplesLeftOut) {
  RunProgress saved, now;
  saved.step = 4;
  saved.samples = 40;
  now.step = 6;
  now.samples = 60;
  EXPECT_EQ(
      rolled_back_text(bad, saved, now, rolled_back(saved, now, 10)).english,
      "step 7 has a loss (inf) or gradient norm (0) that is not finite: back to step 4, skipping the 30 samples since then (rollback 1 of at most 10)");
}

}  // namespace
}  // namespace troika::train
