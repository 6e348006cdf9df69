// Runs that train and do not learn, and their look-alikes.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "diagnosis/made_run_test_support.h"

namespace troika::diagnosis {
namespace {

using metrics::StepMetrics;
using testing::Contains;
using testing::HasSubstr;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Diagnosis why_of_finished(MadeRun& run) {
  run.start();
  run.finish();
  return run.why();
}

TEST(Learning, AShortRunWhoseLossFellLittleIsHealthy) {
  MadeRun run;
  run.train(20, [](StepMetrics& row) { row.loss = 5.7 - 0.001 * static_cast<double>(row.step); });
  EXPECT_EQ(why_of_finished(run).cause, "none");
}

TEST(Learning, ALossThatFallsIsHealthy) {
  MadeRun run;
  run.train(300);
  EXPECT_EQ(why_of_finished(run).cause, "none");
}

TEST(Learning, ALossThatStaysWhereChancePutsItIsNoSignal) {
  MadeRun run;
  run.settings.optimizer.lr = 1e-9;
  run.train(250, [](StepMetrics& row) { row.loss = 5.77 - 0.00001 * static_cast<double>(row.step), row.lr = 1e-9; });
  const Diagnosis found = why_of_finished(run);
  EXPECT_EQ(found.cause, "no_learning_signal");
  EXPECT_THAT(flags_of(found), Contains("--lr 0.0003"));
}

TEST(Learning, APlateauOfAModelThatHasLearntIsHealthy) {
  MadeRun run;
  run.settings.model.path = "model";
  run.train(250, [](StepMetrics& row) { row.loss = 1.9 + 0.02 * static_cast<double>(row.step % 5); });
  EXPECT_EQ(why_of_finished(run).cause, "none");
}

TEST(Learning, ARateOfZeroIsNoSignalAndAWarmUpIsNot) {
  MadeRun run;
  run.train(25, [](StepMetrics& row) { row.loss = 5.7, row.lr = 0; });
  EXPECT_EQ(why_of_finished(run).cause, "no_learning_signal");
  MadeRun warming;
  warming.train(25, [](StepMetrics& row) { row.loss = 5.7, row.lr = 1e-6 * static_cast<double>(row.step); });
  EXPECT_EQ(why_of_finished(warming).cause, "none");
}

TEST(Learning, ALossThatLosesWhatItHadLearntHasDiverged) {
  MadeRun run;
  run.settings.optimizer.lr = 0.001;
  run.train(100);
  run.train(60, [](StepMetrics& row) { row.loss = 7 + 0.1 * static_cast<double>(row.step % 3), row.grad_norm = 80; });
  base::make_directories(run.path() + "/checkpoints/step-00000080");
  base::write_file_atomic(run.path() + "/checkpoints/step-00000080/manifest.json", "{}");
  const Diagnosis found = why_of_finished(run);
  EXPECT_EQ(found.cause, "diverged");
  EXPECT_THAT(flags_of(found), Contains("--lr 0.0005"));
  EXPECT_THAT(flags_of(found), Contains("--resume " + run.path() + "/checkpoints/step-00000080"));
}

TEST(Learning, ASpikeThatHealsIsHealthy) {
  MadeRun run;
  run.train(100);
  run.train(3, [](StepMetrics& row) { row.loss = 9; });
  run.train(100);
  EXPECT_EQ(why_of_finished(run).cause, "none");
}

TEST(Learning, NumbersThatAreNoneHaveDiverged) {
  MadeRun run;
  run.settings.train.on_nonfinite = config::OnNonfinite::skip;
  run.train(40);
  run.train(10, [](StepMetrics& row) { row.loss = row.grad_norm = not_a_number; });
  EXPECT_EQ(why_of_finished(run).cause, "diverged");
  MadeRun one;
  one.train(40);
  one.train(1, [](StepMetrics& row) { row.loss = row.grad_norm = not_a_number; });
  one.train(10);
  EXPECT_EQ(why_of_finished(one).cause, "none");
}

TEST(Learning, Fp16ThatSkipsEveryStepOverflowsAndOneThatLooksForItsScaleDoesNot) {
  double skipped = 0;
  const auto skips = [&](StepMetrics& row) {
    row.grad_norm = not_a_number;
    row.extra = {{"loss_scale", 1}, {"skipped_steps", ++skipped}};
  };
  const auto goes_well = [&](StepMetrics& row) { row.extra = {{"loss_scale", 1024}, {"skipped_steps", skipped}}; };
  MadeRun run;
  run.settings.precision.compute = config::Precision::fp16;
  run.train(10, goes_well);
  run.train(25, skips);
  const Diagnosis found = why_of_finished(run);
  EXPECT_EQ(found.cause, "fp16_overflow");
  EXPECT_THAT(flags_of(found), Contains("--precision bf16"));
  MadeRun healthy;
  healthy.settings.precision.compute = config::Precision::fp16;
  skipped = 0;
  healthy.train(8, skips);
  healthy.train(40, goes_well);
  EXPECT_EQ(why_of_finished(healthy).cause, "none");
}

TEST(Learning, StepsWithoutTokensHaveNothingToLearn) {
  MadeRun run;
  run.train(20, [](StepMetrics& row) { row.tokens = 0, row.loss = 0; });
  EXPECT_EQ(why_of_finished(run).cause, "no_training_tokens");
  MadeRun some;
  some.train(20, [](StepMetrics& row) { row.tokens = row.step % 5 == 0 ? 0 : 12; });
  EXPECT_EQ(why_of_finished(some).cause, "none");
}

Diagnosis why_of_resumed(double loss_after, const std::function<void(MadeRun&)>& change = {}) {
  MadeRun run;
  run.train(60);
  run.train(20, [&](StepMetrics& row) { row.loss = loss_after + 0.02 * static_cast<double>(row.step % 5); });
  run.start();
  run.finish(40);
  run.say(EventKind::launch, 50);
  run.say(EventKind::resume, 51, "resumed from step 60").step = 60;
  run.start(60).time = MadeRun::began + 52;
  run.finish(70);
  if (change) change(run);
  return run.why();
}

TEST(Learning, AJumpAtAResumeIsNamedWithWhatHasChanged) {
  EXPECT_EQ(why_of_resumed(2.5).cause, "none");
  const Diagnosis found = why_of_resumed(4.5, [](MadeRun& run) {
    config::Settings now = run.settings;
    now.data.train = "other.txt";
    base::write_file_atomic(run.path() + "/config-2.yaml", config::to_yaml(now));
  });
  EXPECT_EQ(found.cause, "jump_after_resume");
  EXPECT_THAT(evidence_of(found), HasSubstr("data.train: other.txt"));
}

MadeRun& evaluated(MadeRun& run, const std::vector<double>& valid) {
  std::size_t next = 0;
  run.train(static_cast<std::int64_t>(20 * valid.size()), [&](StepMetrics& row) {
    row.loss = 4 - 0.02 * static_cast<double>(row.step);
    if (row.step % 20 == 0) row.extra["valid_loss"] = valid[next++];
  });
  return run;
}

TEST(Learning, AValidationLossThatRisesWhileTrainingFallsIsOverfitting) {
  MadeRun run;
  const Diagnosis found = why_of_finished(evaluated(run, {3.5, 3.0, 2.8, 3.0, 3.2, 3.4}));
  EXPECT_EQ(found.cause, "overfitting");
  EXPECT_THAT(flags_of(found), Contains("--steps 60"));
  MadeRun noisy;
  EXPECT_EQ(why_of_finished(evaluated(noisy, {3.5, 3.0, 2.8, 2.81, 2.79, 2.82})).cause, "none");
}

}  // namespace
}  // namespace troika::diagnosis
