// Gradients that are not as the steps before let expect: larger by far, or no numbers.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "model/decoder.h"
#include "tensor/libtorch_test_support.h"
#include "tensor/operations.h"
#include "train/heard_segments_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using testing::HasSubstr;

constexpr std::int64_t planted_step = 7, planted_microbatch = 5;

void plant_in(const model::SegmentBuffer& gradients, const model::Tokens& tokens, float factor) {
  constexpr std::int64_t microbatches = 12;
  const std::int64_t sample = (planted_step - 1) * microbatches + planted_microbatch;
  if (tokens.step != planted_step || tokens.sequences.front().sample != sample) return;
  for (const tensor::Tensor& flat : {gradients.flat, gradients.tied}) {
    if (flat.defined()) tensor::multiply(flat, factor);
  }
}

class PlantedGradients : public testing::Test {
 protected:
  PlantedGradients() {
    runs_.settings.model.layers = 4;
    runs_.settings.train.steps = 10;
  }

  // `from_end` counts segments from the end: 0 the head, 2 a block.
  void plant(float factor, std::size_t from_end) {
    runs_.segments = [this, factor, from_end](const model::Parallelism& parallel) {
      auto segments = model::make_segments(runs_.settings.model, runs_.settings.batch.seq_len, tensor::Device(), parallel);
      auto& chosen = segments[segments.size() - 1 - from_end];
      chosen = std::make_unique<HeardSegment>(
          std::move(chosen), [factor](const model::SegmentBuffer& gradients, const model::Tokens& tokens) {
            plant_in(gradients, tokens, factor);
          });
      return segments;
    };
  }

  // Stops after `steps`, to be resumed.
  static Customise stop_after(std::int64_t steps, std::atomic<std::int64_t>* done) {
    return [steps, done](Surroundings& surroundings, int world_rank) {
      surroundings.hooks.stop_requested = [steps, done] { return done->load() + 1 >= steps; };
      if (world_rank == 0) surroundings.hooks.on_step = [done](std::int64_t step, double) { *done = step; };
    };
  }

  void expect_repeated_once(const Rows& rows) {
    ASSERT_EQ(rows.size(), 10U);
    for (const metrics::StepMetrics& row : rows)
      EXPECT_EQ(row.extra.at("steps_repeated"), row.step < planted_step ? 0 : 1) << row.step;
  }

  LayoutRuns runs_;
};

const std::vector<std::string> planted_layouts{"dp 2",
                                               "shares 9,3",
                                               "pp 2",
                                               "dp 2 zero 2",
                                               "dp 2 zero 3",
                                               "dp 3 zero 1 offload file",
                                               "dp 2 pp 2 zero 3 recompute full",
                                               "pp 2 zb-h1",
                                               "dp 2 pp 2 overlap off"};

TEST_F(PlantedGradients, AMillionTimesLargerRepeatTheStepOnceWithTheBitsOfEveryLayout) {
  for (const std::size_t from_end : {0, 2}) {
    plant(1e6f, from_end);
    const std::string alone = "alone " + std::to_string(from_end);
    const Rows want = runs_.train(alone, "");
    expect_repeated_once(want);
    for (const std::string& layout : planted_layouts)
      expect_equal_rows(runs_.train(alone + layout, layout), want, layout);
  }
}

// The run that no grid has touched is the judge of what the repeated step has done.
TEST_F(PlantedGradients, ARepeatedStepUpdatesOnceAndAsFloatsWould) {
  plant(1e6f, 2);
  const Rows rows = runs_.train("on the grid", "");
  expect_repeated_once(rows);
  runs_.settings.parallel.reproducible = config::Reproducible::off;
  const Rows floats = runs_.train("in floats", "");
  ASSERT_EQ(floats.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(floats[i].extra.at("steps_repeated"), 0);
    EXPECT_NEAR(rows[i].loss, floats[i].loss, 2e-5) << rows[i].step;
    EXPECT_NEAR(rows[i].grad_norm / floats[i].grad_norm, 1, 1e-4) << rows[i].step;
  }
}

TEST_F(PlantedGradients, ARunResumedJustBeforeThemRepeatsTheStepAsTheUnbrokenOne) {
  plant(1e6f, 0);
  const Rows want = runs_.train("unbroken", "dp 2");
  expect_repeated_once(want);
  std::atomic<std::int64_t> done{0};
  ASSERT_EQ(runs_.train("resumed", "pp 2", stop_after(planted_step - 1, &done)).size(), 6U);
  expect_equal_rows(runs_.train("resumed", "dp 2 zero 3"), want, "pp 2, then dp 2 zero 3");
}

TEST_F(PlantedGradients, NoNumbersSkipTheStepOfHalfPrecisionAndLeaveTheExponents) {
  runs_.settings.precision.compute = config::Precision::fp16;
  plant(std::numeric_limits<float>::quiet_NaN(), 2);
  const Rows want = runs_.train("alone", "");
  ASSERT_EQ(want.size(), 10U);
  EXPECT_EQ(want.back().extra.at("steps_repeated"), 0);
  EXPECT_TRUE(std::isnan(want[planted_step - 1].grad_norm));
  for (const std::string& layout : planted_layouts) expect_equal_rows(runs_.train(layout, layout), want, layout);
}

TEST_F(PlantedGradients, NoNumbersEndARunWithoutALossScaleAndTheStepBeforeIsSaved) {
  for (const std::string layout : {"", "dp 2 zero 3", "shares 9,3", "dp 3 zero 1 offload file"}) {
    plant(1, 0);
    const Rows want = runs_.train("want" + layout, layout);
    plant(std::numeric_limits<float>::infinity(), 0);
    try {
      runs_.train("run" + layout, layout);
      ADD_FAILURE() << layout;
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("after step 7 the loss")) << layout;
      EXPECT_THAT(error.what(), HasSubstr("(step 6 is saved)")) << layout;
    }
    plant(1, 0);
    expect_equal_rows(runs_.train("run" + layout, "pp 2"), want, layout + ", resumed");
  }
}

TEST_F(PlantedGradients, NoNumbersAreSkippedAlikeInEveryLayoutWhereThatIsWanted) {
  runs_.settings.train.on_nonfinite = config::OnNonfinite::skip;
  plant(std::numeric_limits<float>::quiet_NaN(), 2);
  const Rows want = runs_.train("alone", "");
  ASSERT_EQ(want.size(), 10U);
  EXPECT_TRUE(std::isnan(want[planted_step - 1].grad_norm));
  EXPECT_EQ(want.back().extra.at("skipped_steps"), 1);
  for (const std::string& layout : planted_layouts) expect_equal_rows(runs_.train(layout, layout), want, layout);
}

TEST_F(PlantedGradients, NoNumbersTakeTheLastCheckpointBackAndLeaveTheDataSinceThenOutInEveryLayout) {
  runs_.settings.train.on_nonfinite = config::OnNonfinite::rollback;
  runs_.settings.checkpoint.every = 4;
  plant(std::numeric_limits<float>::quiet_NaN(), 2);
  const Rows want = runs_.train("alone", "");
  ASSERT_EQ(want.size(), 10U);
  for (const metrics::StepMetrics& row : want) EXPECT_FALSE(std::isnan(row.grad_norm)) << row.step;
  const auto self = comm::make_self_channel("test");
  const auto found = checkpoint::open_any(runs_.folder("alone"), *self);
  EXPECT_EQ(found.facts.extra.at("rolled_back"), "1");
  EXPECT_EQ(found.facts.extra.at("samples_seen"), "156");  // 13 batches of 12: those of steps 5 to 7 were left out
  for (const std::string& layout : planted_layouts) expect_equal_rows(runs_.train(layout, layout), want, layout);
}

TEST_F(PlantedGradients, NoNumbersBeforeAnyCheckpointEndTheRunThatWouldTakeOneBack) {
  runs_.settings.train.on_nonfinite = config::OnNonfinite::rollback;
  plant(std::numeric_limits<float>::quiet_NaN(), 2);
  EXPECT_THROW(runs_.train("run", "dp 2"), base::ConfigError);
  runs_.settings.checkpoint.every = 4;
  EXPECT_EQ(runs_.train("run", "dp 2").size(), 10U) << "the state before it was saved";
}

}  // namespace
}  // namespace troika::train
