// Runs that begin from a model folder or another run: the same bits in every layout, and the weights that were there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "comm/channel.h"
#include "train/layout_runs_test_support.h"
#include "weights/model_source.h"

namespace troika::train {
namespace {
using testing::HasSubstr;

class WeightsStart : public testing::Test {
 protected:
  WeightsStart() {
    runs_.settings.model.layers = 4;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 2;
  }

  std::string checkpoint_of(const std::string& run) const { return runs_.folder(run) + "/checkpoints/step-00000002"; }

  // A run of two steps that begins from `path`.
  std::vector<metrics::StepMetrics> begin_from(const std::string& path, const std::string& layout) {
    runs_.settings.model.path = path;
    const auto rows = runs_.train("child" + std::to_string(children_++), layout);
    runs_.settings.model.path.clear();
    return rows;
  }

  LayoutRuns runs_;
  int children_ = 0;
};

TEST_F(WeightsStart, AFolderACheckpointAndARunGiveTheSameBitsInEveryLayout) {
  const auto first = runs_.train("whole", "");
  runs_.train("parts", "dp 2 pp 2 zero 3");  // the same weights, cut otherwise
  const std::string folder = checkpoint_of("whole") + "/model";
  const auto expected = begin_from(folder, "");
  EXPECT_NE(expected[0].loss_bits, first[0].loss_bits);
  expect_equal_rows(begin_from(runs_.folder("whole"), ""), expected, "a run");
  expect_equal_rows(begin_from(checkpoint_of("parts"), "pp 2"), expected, "a checkpoint in parts");
  for (const char* layout : {"pp 3 dp 2", "dp 3 zero 1", "dp 2 pp 2 zero 3", "dp 2 zero 2 offload file"})
    expect_equal_rows(begin_from(folder, layout), expected, layout);
  for (const char* layout : {"tp 2 pp 2", "tp 3 dp 2 zero 3"})
    EXPECT_NEAR(begin_from(folder, layout)[1].loss, expected[1].loss, 1e-5) << layout;
}

TEST_F(WeightsStart, HalfPrecisionKeepsTheFoldersNumbersAsMasterCopies) {
  runs_.train("whole", "");
  const std::string folder = checkpoint_of("whole") + "/model";
  const auto expected = begin_from(folder, "bf16");
  expect_equal_rows(begin_from(folder, "bf16 dp 2 pp 2 zero 3"), expected, "bf16 zero 3");
  EXPECT_NE(expected[0].loss_bits, begin_from(folder, "")[0].loss_bits);
}

// The folder may be gone by then.
TEST_F(WeightsStart, ARunThatGoesOnReadsItsCheckpointAlone) {
  runs_.settings.optimizer.lr_schedule = config::LrSchedule::constant;
  runs_.train("whole", "");
  const std::string folder = runs_.folder("folder");
  base::rename_path(checkpoint_of("whole") + "/model", folder);
  runs_.settings.train.steps = 4;
  const auto expected = begin_from(folder, "");
  runs_.settings.train.steps = 2;
  runs_.settings.model.path = folder;
  runs_.train("twice", "");
  base::remove_tree(folder);
  runs_.settings.train.steps = 4;
  expect_equal_rows(runs_.train("twice", "dp 2 zero 3"), expected, "in two attempts");
  const auto self = comm::make_self_channel("self");
  EXPECT_EQ(weights::open_model(runs_.folder("twice"), *self)->facts().at("weights_from"), folder);
}

TEST_F(WeightsStart, UnfitWeightsAreRefusedBeforeTheFirstStep) {
  runs_.train("whole", "");
  runs_.settings.model.ffn += 1;
  try {
    begin_from(checkpoint_of("whole") + "/model", "dp 2");
    FAIL() << "it trained";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("of another shape"));
  }
  EXPECT_FALSE(base::file_exists(runs_.folder("child0") + "/metrics.jsonl"));
}

}  // namespace
}  // namespace troika::train
