// Training in half precision: the same bits in every layout, and the loss scale of fp16 through overflows and checkpoints.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using testing::HasSubstr;
using testing::Not;

class Precision : public testing::Test {
 protected:
  Precision() {
    runs_.settings.model.layers = 4;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.batch.global_batch_size = 6;
    runs_.settings.optimizer.lr = 3e-3;
    runs_.settings.train.steps = 8;
  }
  // Runs in `layout` until `last` steps are done, as if stopped by a signal then.
  Rows train_until(std::int64_t last, const std::string& name, const std::string& layout) {
    return runs_.train(name, layout, [&](Surroundings& surroundings, int rank) {
      if (rank != 0) return;
      const metrics::MetricsFile file(runs_.folder(name) + "/metrics.jsonl");
      surroundings.hooks.stop_requested = [file, last] { return static_cast<std::int64_t>(file.read().size()) + 1 >= last; };
    });
  }
  std::map<std::string, std::string> facts(const std::string& name) const {
    return checkpoint::open_any(runs_.folder(name), *comm::make_self_channel("self")).facts.extra;
  }
  LayoutRuns runs_;
};

std::vector<double> column(const Rows& rows, const std::string& key) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(row.extra.at(key));
  return values;
}

const std::vector<std::string>& precision_layouts() {
  static const std::vector<std::string> all{"pp 3",
                                            "pp 2 zb-h1 recompute full",
                                            "dp 2 pp 2 zero 3",
                                            "dp 3 zero 2",
                                            "dp 2 zero 1 offload file",
                                            "dp 2 pp 2 interleaved 2 zero 2",
                                            "dp 2 recompute selective",
                                            "dp 3 zero 3 recompute full overlap off",
                                            "pp 2 gpipe offload file"};
  return all;
}

TEST_F(Precision, BFloat16GivesTheSameBitsInEveryLayout) {
  for (const bool tied : {false, true}) {
    runs_.settings.model.tie_embeddings = tied;
    const std::string name = tied ? "tied " : "untied ";
    const Rows alone = runs_.train(name, "bf16 threads 1");
    EXPECT_LT(alone.back().loss, alone.front().loss);
    for (std::size_t i = 0; i < precision_layouts().size(); ++i)
      expect_equal_rows(runs_.train(name + precision_layouts()[i], take_turns("bf16 " + precision_layouts()[i], i)),
                        alone, name + precision_layouts()[i]);
  }
}

// The scale starts so high that the first steps overflow.
TEST_F(Precision, Float16GivesTheSameBitsInEveryLayoutOverflowsIncluded) {
  runs_.settings.precision.loss_scale = std::ldexp(1, 22);
  for (const bool tied : {false, true}) {
    runs_.settings.model.tie_embeddings = tied;
    const std::string name = tied ? "tied " : "untied ";
    const Rows alone = runs_.train(name, "fp16 threads 1");
    EXPECT_GT(alone.back().extra.at("skipped_steps"), 1);
    EXPECT_LT(alone.back().extra.at("skipped_steps"), 8);
    for (std::size_t i = 0; i < precision_layouts().size(); ++i)
      expect_equal_rows(runs_.train(name + precision_layouts()[i], take_turns("fp16 " + precision_layouts()[i], i)),
                        alone, name + precision_layouts()[i]);
  }
}

// 2^40: every backward overflows until the scale has come down; no weight may move before.
TEST_F(Precision, AHugeLossScaleIsHalvedUntilStepsAreGoodAndThenTheModelLearns) {
  runs_.settings.precision.loss_scale = std::ldexp(1, 40);
  runs_.settings.train.steps = 40;
  char* screen = nullptr;
  std::size_t length = 0;
  std::FILE* const memory = open_memstream(&screen, &length);
  const Rows rows =
      runs_.train("alone", "fp16", [&](Surroundings& surroundings, int) { surroundings.listeners.screen = memory; });
  std::fclose(memory);
  const std::string printed(screen, length);
  std::free(screen);
  EXPECT_THAT(printed, HasSubstr("step 1 overflows fp16 and is skipped; the loss scale is now 549755813888\n"));
  const auto skipped = static_cast<std::size_t>(rows.back().extra.at("skipped_steps"));
  EXPECT_THAT(printed, Not(HasSubstr("step " + std::to_string(skipped + 1) + " overflows")));
  ASSERT_GT(skipped, 12U);
  ASSERT_LT(skipped, 25U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool overflowed = i < skipped;
    EXPECT_EQ(rows[i].extra.at("loss_scale"), std::ldexp(1, 40 - static_cast<int>(std::min(i, skipped)))) << i;
    EXPECT_EQ(rows[i].extra.at("skipped_steps"), static_cast<double>(std::min(i + 1, skipped))) << i;
    EXPECT_EQ(std::isnan(rows[i].grad_norm), overflowed) << i;
    EXPECT_TRUE(std::isfinite(rows[i].loss)) << i;
  }
  EXPECT_LT(rows.back().loss, rows[skipped].loss - 0.3);
  EXPECT_EQ(facts("alone").at("skipped_steps"), std::to_string(skipped));
}

// Only one rank's gradients may overflow; all must skip. Within a tensor or context group sums are rounded elsewhere, so the
// losses agree within rounding, the scale's history exactly.
TEST_F(Precision, AllRanksOfTensorAndContextGroupsSkipTheSameSteps) {
  runs_.settings.precision.loss_scale = std::ldexp(1, 22);
  const Rows alone = runs_.train("alone", "fp16");
  EXPECT_LT(alone.back().extra.at("skipped_steps"), 7);
  for (const std::string layout : {"tp 3 plain", "cp 2 dp 2 zero 2", "tp 2 cp 2 pp 2 zero 3"}) {
    const Rows rows = runs_.train(layout, "fp16 " + layout);
    EXPECT_EQ(column(rows, "loss_scale"), column(alone, "loss_scale")) << layout;
    EXPECT_EQ(column(rows, "skipped_steps"), column(alone, "skipped_steps")) << layout;
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(rows[i].loss, alone[i].loss, 0.01) << layout << ", row " << i;
  }
}

TEST_F(Precision, TheScaleGrowsAfterItsWindowAndShrinksAgainWhenItIsTooHigh) {
  auto& precision = runs_.settings.precision;
  precision.loss_scale = 64;
  precision.loss_scale_window = 2;
  precision.loss_scale_growth = 32;
  runs_.settings.train.steps = 16;
  const auto scales = column(runs_.train("alone", "fp16"), "loss_scale");
  EXPECT_EQ((std::vector<double>(scales.begin(), scales.begin() + 6)),
            (std::vector<double>{64, 64, 2048, 2048, 65536, 65536}));
  EXPECT_THAT(scales, testing::Contains(testing::Gt(65536 * 32)));
  EXPECT_THAT(scales, testing::Contains(65536 * 16));
}

// Stopped while the scale still falls, between two growths, and after one; each time resumed in another layout.
TEST_F(Precision, ScaleGoodStepsAndSkippedStepsSurviveACheckpoint) {
  auto& precision = runs_.settings.precision;
  precision.loss_scale = std::ldexp(1, 26);
  precision.loss_scale_window = 3;
  runs_.settings.train.steps = 18;
  const Rows alone = runs_.train("alone", "fp16");
  const std::vector<std::pair<std::int64_t, std::string>> chain{
      {2, "dp 2 pp 2 zero 3"}, {7, "pp 3 offload file"}, {10, ""}, {13, "dp 3 zero 1"}, {18, "dp 2 pp 2 zero 2 zb-h1"}};
  for (const auto& [last, layout] : chain) {
    const Rows rows = train_until(last, "chain", "fp16 " + layout);
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(last)) << layout;
    if (last == 18) expect_equal_rows(rows, alone, "chain");
  }
  for (const char* name : {"loss_scale", "good_steps", "skipped_steps"})
    EXPECT_EQ(facts("chain").at(name), facts("alone").at(name)) << name;
}

TEST_F(Precision, AScaleOfOneOrLessSurvivesACheckpointToo) {
  auto& precision = runs_.settings.precision;
  precision.loss_scale = 0.25;
  precision.loss_scale_min = 0.125;
  precision.loss_scale_window = 2;
  const Rows alone = runs_.train("alone", "fp16");
  EXPECT_EQ(alone[4].extra.at("loss_scale"), 1);
  train_until(2, "chain", "fp16");
  train_until(4, "chain", "fp16 pp 2");
  expect_equal_rows(runs_.train("chain", "fp16 dp 2"), alone, "chain");
}

TEST_F(Precision, ABFloat16ResumeContinuesWithTheBitsOfTheUninterruptedRun) {
  const Rows alone = runs_.train("alone", "bf16");
  for (const auto& [last, layout] : std::vector<std::pair<std::int64_t, std::string>>{
           {2, "dp 2 zero 3"}, {4, "pp 4 gpipe"}, {6, "dp 2 pp 2 zero 1 offload file"}, {7, ""}})
    ASSERT_EQ(train_until(last, "chain", "bf16 " + layout).size(), static_cast<std::size_t>(last));
  expect_equal_rows(runs_.train("chain", "bf16"), alone, "chain");
}

// fp16 that begins from an fp32 checkpoint has no scale to take over: it starts with the settings'.
TEST_F(Precision, ACheckpointOfAnotherPrecisionStartsTheScaleFromTheSettings) {
  train_until(2, "chain", "dp 2");
  EXPECT_EQ(facts("chain").count("loss_scale"), 0U);
  const Rows rows = train_until(4, "chain", "fp16 pp 2");
  EXPECT_EQ(rows[1].extra.count("loss_scale"), 0U);
  EXPECT_EQ(rows[2].extra.at("loss_scale"), 65536);
  EXPECT_LT(std::abs(rows[2].loss - rows[1].loss), 1);
  const Rows back = runs_.train("chain", "bf16 dp 2 zero 3");
  ASSERT_EQ(back.size(), 8U);
  EXPECT_LT(back.back().loss, back.front().loss);
}

TEST_F(Precision, AnOverflowAtTheSmallestScaleIsAnErrorThatSaysWhatToDo) {
  auto& precision = runs_.settings.precision;
  precision.loss_scale = std::ldexp(1, 40);
  precision.loss_scale_min = std::ldexp(1, 39);
  for (const std::string layout : {"", "dp 2 pp 2 zero 3", "tp 2"}) {
    try {
      runs_.train(layout + " run", "fp16 " + layout);
      ADD_FAILURE() << "no error in " << layout;
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("fp16 overflows even with the smallest loss scale (5.49756e+11)")) << layout;
      EXPECT_THAT(error.what(), HasSubstr("use --bf16")) << layout;
    }
    // The step that was skipped has a row, the one that ended the run does not.
    EXPECT_EQ(metrics::MetricsFile(runs_.folder(layout + " run") + "/metrics.jsonl").read().size(), 1U) << layout;
  }
}

}  // namespace
}  // namespace troika::train
