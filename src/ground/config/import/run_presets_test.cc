#include "config/import/run_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::HasSubstr;

TEST(RunPresets, GiveModelAndBatch) {
  const Resolved run = resolved({"--preset", "balanced"}, 2);
  const ModelSettings& m = run.settings.model;
  EXPECT_EQ((std::vector<std::int64_t>{m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn, m.vocab}),
            (std::vector<std::int64_t>{16, 1024, 8, 8, 128, 3072, 0}));
  EXPECT_EQ(m.preset, "none");
  EXPECT_EQ(run.batch.micro, 12);
  EXPECT_EQ(run.batch.seq_len, 2048);
  EXPECT_EQ(run.batch.tokens_per_step(), 196608);
  EXPECT_EQ(parsed({"--preset", "conservative"}).model.layers, 12);
  EXPECT_EQ(parsed({"--preset", "aggressive"}).model.layers, 20);
}

TEST(RunPresets, TheirTotalBatchIsLegalOn1248Ranks) {
  for (const RunPreset& preset : run_presets()) {
    for (const int world : {1, 2, 4, 8}) {
      const std::string name = word_of(preset.preset);
      const Resolved run = resolved({"--preset", name}, world);
      EXPECT_EQ(run.batch.micro, preset.micro_batch_size) << name;
      EXPECT_EQ(run.batch.tokens_per_step(), preset.total_batch_size) << name << " on " << world;
    }
  }
}

TEST(RunPresets, DepthTakesAnotherMemberOfTheFamily) {
  const ModelSettings m = parsed({"--preset", "balanced", "--depth=10"}).model;
  EXPECT_EQ((std::vector<std::int64_t>{m.layers, m.hidden, m.heads, m.ffn}),
            (std::vector<std::int64_t>{10, 640, 5, 1920}));
  const ModelSettings own = parsed({"--preset", "balanced", "--depth=10", "--model.hidden", "512"}).model;
  EXPECT_EQ(own.layers, 10);
  EXPECT_EQ(own.hidden, 512);
  EXPECT_EQ(parsed({"--preset", "balanced"}, {{"NUM_LAYERS", "4"}}).model.hidden, 256);
}

TEST(RunPresets, EverySettingOverridesThem) {
  const std::string yaml = temporary_file("preset.yaml", "train: {preset: aggressive}\nbatch: {seq_len: 1024}\n");
  EXPECT_EQ(parsed({yaml}).batch.seq_len, 1024);
  EXPECT_EQ(parsed({yaml, "--preset", "conservative"}).model.layers, 12);
  EXPECT_EQ(parsed({yaml, "--preset", "none"}).model.layers, ModelSettings{}.layers);
  EXPECT_EQ(resolved({"--preset", "balanced", "--batch_size", "24"}, 2).batch.global, 48);
}

TEST(RunPresets, AModelThatIsNamedKeepsItsShape) {
  const ParsedSettings run = parse_settings({"--preset", "balanced", "--model_size", "tiny"}, {});
  EXPECT_EQ(run.settings.model.hidden, 256);
  EXPECT_EQ(run.settings.batch.micro_batch_size, 12);
  EXPECT_THAT(base::join(in_english(run.notes), "\n"),
              HasSubstr("train.preset balanced gives the batch alone, because model.preset"));
}

TEST(RunPresets, AConfigFileOfThatNameSelectsThem) {
  for (const char* name : {"configs/dual_gpu/balanced.py", "balanced", "balanced.py"}) {
    EXPECT_EQ(parsed({"--config", name}).train.preset, TrainPreset::balanced) << name;
    EXPECT_EQ(parsed({name, "--steps", "3"}).model.layers, 16) << name;
    EXPECT_EQ(parsed({}, {{"CONFIG_FILE", name}}).model.layers, 16) << name;
  }
  EXPECT_THAT(parse_settings({"configs/dual_gpu/balanced.py"}, {}).notes.front().english,
              HasSubstr("selects --preset balanced by its name; the file is not read"));
  EXPECT_TRUE(parse_settings({"balanced"}, {}).notes.empty());
  EXPECT_EQ(run_preset_named("configs/balanced"), "");
  EXPECT_THAT(parse_error({"--preset", "balancd"}), HasSubstr("balanced"));
}

TEST(RunPresets, APinnedRunReadsBackAsItself) {
  const Settings pinned = resolved({"--preset", "balanced", "--depth=10"}, 2).settings;
  const std::string yaml = temporary_file("pinned.yaml", to_yaml(pinned));
  EXPECT_EQ(to_yaml(resolved({yaml}, 2).settings), to_yaml(pinned));
}

}  // namespace
}  // namespace troika::config
