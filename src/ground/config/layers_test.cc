#include "config/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::HasSubstr;

std::string yaml(const std::string& text) { return temporary_file("layer.yaml", text); }

TEST(Layers, HigherPlacesWin) {
  const std::string file = yaml("model: {preset: qwen3-small, layers: 3, hidden: 100, ffn: 7}\n");
  const Settings s = parsed({file, "--model.hidden", "300"}, {{"NUM_LAYERS", "5"}, {"HIDDEN_SIZE", "200"}});
  EXPECT_EQ(s.model.heads, 8);     // preset over default
  EXPECT_EQ(s.model.ffn, 7);       // YAML over preset
  EXPECT_EQ(s.model.layers, 5);    // environment over YAML
  EXPECT_EQ(s.model.hidden, 300);  // command line over environment
}

TEST(Layers, ThePresetOfTheHighestPlaceLiesBelowEverything) {
  const std::string file = yaml("model: {preset: qwen3-small, layers: 3}\n");
  const ParsedSettings result = parse_settings({"--model.ffn", "9", file, "--model_size", "medium"}, {});
  EXPECT_EQ(result.settings.model.preset, "qwen3-medium");
  EXPECT_EQ(result.settings.model.hidden, 768);
  EXPECT_EQ(result.settings.model.layers, 3);
  EXPECT_EQ(result.settings.model.ffn, 9);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0].english, HasSubstr("model.layers 3"));
}

TEST(Layers, AGpuComputesInBf16UnlessAPlaceStatesAPrecision) {
  const auto taken = [](const std::vector<std::string>& arguments, int gpus) {
    ParsedSettings result = parse_settings(arguments, {});
    take_precision_of_device(&result, gpus);
    const bool is_told = std::any_of(result.notes.begin(), result.notes.end(), [](const base::Text& note) {
      return note.english.find("computing in bf16, because the device is a GPU") == 0;
    });
    EXPECT_EQ(is_told, !result.any_place_states("precision.compute") && result.settings.precision.compute == Precision::bf16);
    return result.settings.precision.compute;
  };
  EXPECT_EQ(taken({}, 0), Precision::fp32);
  EXPECT_EQ(taken({}, 2), Precision::bf16);
  EXPECT_EQ(taken({"--device", "cpu"}, 2), Precision::fp32);
  EXPECT_EQ(taken({"--device", "cuda"}, 0), Precision::bf16);
  EXPECT_EQ(taken({"--device", "cuda:1"}, 0), Precision::bf16);
  EXPECT_EQ(taken({"--device", "cuda", "--fp32"}, 2), Precision::fp32);
  EXPECT_EQ(taken({"--device", "cuda", "--fp16"}, 2), Precision::fp16);
  EXPECT_EQ(taken({yaml("precision: {compute: fp32}\n")}, 2), Precision::fp32);
  EXPECT_EQ(taken({yaml("train: {steps: 3}\n")}, 2), Precision::bf16);
}

TEST(Layers, TrainingsOnAGpuHaveEqualBitsInOneLayoutUnlessAPlaceStatesOtherwise) {
  const auto taken = [](const std::vector<std::string>& arguments, int gpus) {
    ParsedSettings result = parse_settings(arguments, {});
    const std::size_t notes = result.notes.size();
    take_sums_of_device(&result, gpus);
    EXPECT_EQ(result.notes.size() - notes,
              !result.any_place_states("parallel.reproducible") && result.settings.parallel.reproducible == Reproducible::layout);
    return result.settings.parallel.reproducible;
  };
  EXPECT_EQ(taken({}, 0), Reproducible::run);
  EXPECT_EQ(taken({}, 1), Reproducible::layout);
  EXPECT_EQ(taken({"--device", "cpu"}, 1), Reproducible::run);
  EXPECT_EQ(taken({"--reproducible", "run"}, 1), Reproducible::run);
  EXPECT_EQ(taken({yaml("parallel: {reproducible: bits}\n")}, 1), Reproducible::bits);
}

TEST(Layers, ABatchOfTheCommandLineReplacesTheOneOfTheEnvironment) {
  const Environment environment = {{"BATCH_SIZE", "16"}, {"MICROBATCH_NUM", "4"}};
  const Batch plain = resolved({"--micro-batch-size", "1", "--global-batch-size", "12"}, 2, environment).batch;
  EXPECT_EQ(plain.micro, 1);
  EXPECT_EQ(plain.global, 12);
  const Batch smaller = resolved({"--batch_size", "8"}, 2, environment).batch;
  EXPECT_EQ(smaller.micro, 2);
  EXPECT_EQ(smaller.microbatches_per_rank, 4);
  const Batch finer = resolved({"--microbatch_num", "8"}, 2, environment).batch;
  EXPECT_EQ(finer.micro, 2);
  EXPECT_EQ(finer.global, 32);
}

TEST(Layers, OneBatchNumberReplacesWhatItContradictsInAPinnedFile) {
  const std::string pinned =
      yaml(to_yaml(resolved({"--micro-batch-size", "1", "--global-batch-size", "12"}, 3).settings));
  const auto numbers = [&](std::vector<std::string> arguments, std::int64_t world) {
    arguments.insert(arguments.begin(), pinned);
    const Batch b = resolved(arguments, world).batch;
    return std::vector<std::int64_t>{b.micro, b.microbatches_per_rank, b.global};
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers({}, 3), (Numbers{1, 4, 12}));
  EXPECT_EQ(numbers({"--dp", "2"}, 2), (Numbers{1, 6, 12}));
  EXPECT_EQ(numbers({"--pp", "3"}, 3), (Numbers{1, 12, 12}));
  EXPECT_EQ(numbers({"--global-batch-size", "24"}, 3), (Numbers{1, 8, 24}));
  EXPECT_EQ(numbers({"--micro-batch-size", "2"}, 3), (Numbers{2, 2, 12}));
  EXPECT_EQ(numbers({"--batch.microbatches", "2"}, 3), (Numbers{1, 2, 6}));
  EXPECT_EQ(numbers({"--batch_size", "8", "--num_microbatches", "2"}, 3), (Numbers{4, 2, 24}));
  EXPECT_EQ(numbers({"--gradient_accumulation_steps", "5"}, 3), (Numbers{1, 5, 15}));
  EXPECT_EQ(numbers({"--total_batch_size", "1536"}, 3), (Numbers{1, 2, 6}));
}

TEST(Layers, RoundsOfALowerPlaceGiveWayToAStatedTotal) {
  const std::string file = yaml("device_batch_size: 2\ngradient_accumulation_steps: 8\n");
  EXPECT_EQ(resolved({file}, 1).batch.microbatches_per_rank, 8);
  EXPECT_EQ(resolved({file, "--global-batch-size", "12"}, 2).batch.microbatches_per_rank, 3);
}

TEST(Layers, LayoutAndLengthGiveWay) {
  const std::string file = yaml("parallel: {dp: 3, stage_layers: [4]}\ntrain: {steps: 20}\n");
  EXPECT_EQ(resolved({file, "--pp", "3"}, 3).settings.parallel.dp, 1);
  EXPECT_EQ(parsed({file, "--epochs", "2"}).train.steps, 0);
  EXPECT_EQ(parsed({file, "--epochs", "2", "--steps", "5"}).train.steps, 5);
  EXPECT_TRUE(parsed({file, "--model.layers", "8"}).parallel.stage_layers.empty());
}

TEST(Layers, ScheduleAndStagesPerRankMakeWayForEachOther) {
  const std::string file = yaml(to_yaml(resolved({"--pp", "2", "--virtual-stages", "2"}, 2).settings));
  const auto asked = [&](std::vector<std::string> arguments, std::int64_t world) {
    arguments.insert(arguments.begin(), file);
    const auto p = resolved(arguments, world).settings.parallel;
    return word_of(p.schedule) + " " + std::to_string(p.virtual_stages);
  };
  EXPECT_EQ(asked({}, 2), "interleaved 2");
  EXPECT_EQ(asked({"--schedule", "1f1b"}, 2), "1f1b 1");
  EXPECT_EQ(asked({"--schedule", "interleaved"}, 2), "interleaved 2");
  EXPECT_EQ(asked({"--virtual-stages", "1"}, 2), "1f1b 1");
  EXPECT_EQ(asked({"--pp", "1"}, 2), "1f1b 1");
  const std::string other = temporary_file("other.yaml", "parallel: {pp: 2, schedule: gpipe, stage_layers: [3, 1]}\n");
  EXPECT_EQ(parsed({other, "--virtual-stages", "1"}).parallel.schedule, Schedule::gpipe);
  EXPECT_EQ(resolved({other, "--virtual-stages", "2"}, 2).settings.parallel.schedule, Schedule::interleaved);
  EXPECT_EQ(parsed({other, "--schedule", "zb-h1"}).parallel.stage_layers.size(), 2u);
}

TEST(Layers, TheHighestWordOnTheCutOfStagesCounts) {
  const std::string file = yaml("parallel: {pp: 2, stage_costs: [1, 1, 2, 1, 1, 3], schedule_file: a.program}\n");
  EXPECT_EQ(resolved({file}, 2).settings.parallel.stage_costs.size(), 6u);
  EXPECT_TRUE(resolved({file, "--parallel.stage-layers", "3,1"}, 2).settings.parallel.stage_costs.empty());
  EXPECT_TRUE(resolved({file, "--parallel.stage-balance", "measured"}, 2).settings.parallel.stage_costs.empty());
  EXPECT_TRUE(resolved({file, "--model.layers", "6"}, 2).settings.parallel.stage_costs.empty());
  EXPECT_EQ(resolved({file, "--pp", "4"}, 4).settings.parallel.stage_costs.size(), 6u);
  EXPECT_EQ(parsed({file, "--schedule", "gpipe"}).parallel.schedule_file, "");
}

}  // namespace
}  // namespace troika::config
