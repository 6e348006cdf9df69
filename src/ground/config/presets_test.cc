#include "config/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

void expect_model(const char* name, std::vector<std::int64_t> numbers, bool tied) {
  const ModelSettings m = find_preset(name);
  EXPECT_EQ((std::vector<std::int64_t>{m.hidden, m.layers, m.heads, m.kv_heads, m.head_dim, m.ffn}), numbers) << name;
  EXPECT_EQ(m.tie_embeddings, tied) << name;
  EXPECT_EQ(m.vocab, 151936) << name;
  EXPECT_EQ(m.max_positions, 40960) << name;
  EXPECT_EQ(m.rope_theta, 1e6) << name;
  EXPECT_EQ(m.norm_eps, 1e-6) << name;
  EXPECT_EQ(m.preset, name);
}

TEST(Presets, PublishedModelsHaveTheirPublishedNumbers) {
  expect_model("qwen3-0.6b", {1024, 28, 16, 8, 128, 3072}, true);
  expect_model("qwen3-1.7b", {2048, 28, 16, 8, 128, 6144}, true);
  expect_model("qwen3-4b", {2560, 36, 32, 8, 128, 9728}, true);
  expect_model("qwen3-8b", {4096, 36, 32, 8, 128, 12288}, false);
  expect_model("qwen3-14b", {5120, 40, 40, 8, 128, 17408}, false);
  expect_model("qwen3-32b", {5120, 64, 64, 8, 128, 25600}, false);
}

TEST(Presets, PublishedGpt2ModelsHaveTheirPublishedNumbers) {
  struct Published {
    const char* name;
    std::int64_t hidden, layers, heads;
  };
  for (const Published& p : {Published{"gpt2-124m", 768, 12, 12}, Published{"gpt2-medium", 1024, 24, 16},
                             Published{"gpt2-large", 1280, 36, 20}, Published{"gpt2-xl", 1600, 48, 25}}) {
    const ModelSettings m = find_preset(p.name);
    EXPECT_EQ(m.architecture, Family::gpt2) << p.name;
    EXPECT_EQ((std::vector<std::int64_t>{m.hidden, m.layers, m.heads, m.kv_heads, m.head_dim, m.ffn, m.vocab}),
              (std::vector<std::int64_t>{p.hidden, p.layers, p.heads, p.heads, 64, 4 * p.hidden, 50257}))
        << p.name;
    EXPECT_EQ(m.max_positions, 1024) << p.name;
    EXPECT_EQ(m.norm_eps, 1e-5) << p.name;
    EXPECT_TRUE(m.tie_embeddings) << p.name;
  }
}

struct Numbers {
  std::int64_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab, max_positions;
  double theta, eps, scaling;
  bool tied;
};

void expect_numbers(const char* name, Family architecture, const Numbers& n) {
  const ModelSettings m = find_preset(name);
  EXPECT_EQ(m.architecture, architecture) << name;
  EXPECT_EQ(
      (std::vector<std::int64_t>{m.hidden, m.layers, m.heads, m.kv_heads, m.head_dim, m.ffn, m.vocab, m.max_positions}),
      (std::vector<std::int64_t>{n.hidden, n.layers, n.heads, n.kv_heads, n.head_dim, n.ffn, n.vocab, n.max_positions}))
      << name;
  EXPECT_EQ(m.rope_theta, n.theta) << name;
  EXPECT_EQ(m.norm_eps, n.eps) << name;
  EXPECT_EQ(m.rope_scaling, n.scaling > 0 ? RopeScaling::llama3 : RopeScaling::none) << name;
  if (n.scaling > 0) {
    EXPECT_EQ(m.rope_factor, n.scaling) << name;
    EXPECT_EQ(m.rope_low_freq_factor, 1) << name;
    EXPECT_EQ(m.rope_high_freq_factor, 4) << name;
    EXPECT_EQ(m.rope_original_positions, 8192) << name;
  }
  EXPECT_EQ(m.tie_embeddings, n.tied) << name;
}

TEST(Presets, PublishedQwen2LlamaAndMistralModelsHaveTheirPublishedNumbers) {
  expect_numbers("qwen2.5-0.5b", Family::qwen2, {896, 24, 14, 2, 64, 4864, 151936, 32768, 1e6, 1e-6, 0, true});
  expect_numbers("qwen2.5-1.5b", Family::qwen2, {1536, 28, 12, 2, 128, 8960, 151936, 131072, 1e6, 1e-6, 0, true});
  expect_numbers("qwen2.5-3b", Family::qwen2, {2048, 36, 16, 2, 128, 11008, 151936, 32768, 1e6, 1e-6, 0, true});
  expect_numbers("qwen2.5-7b", Family::qwen2, {3584, 28, 28, 4, 128, 18944, 152064, 131072, 1e6, 1e-6, 0, false});
  expect_numbers("qwen2.5-14b", Family::qwen2, {5120, 48, 40, 8, 128, 13824, 152064, 131072, 1e6, 1e-5, 0, false});
  expect_numbers("qwen2.5-32b", Family::qwen2, {5120, 64, 40, 8, 128, 27648, 152064, 131072, 1e6, 1e-5, 0, false});
  expect_numbers("qwen2.5-72b", Family::qwen2, {8192, 80, 64, 8, 128, 29568, 152064, 131072, 1e6, 1e-5, 0, false});
  expect_numbers("llama3-8b", Family::llama, {4096, 32, 32, 8, 128, 14336, 128256, 8192, 5e5, 1e-5, 0, false});
  expect_numbers("llama3-70b", Family::llama, {8192, 80, 64, 8, 128, 28672, 128256, 8192, 5e5, 1e-5, 0, false});
  expect_numbers("llama3.1-8b", Family::llama, {4096, 32, 32, 8, 128, 14336, 128256, 131072, 5e5, 1e-5, 8, false});
  expect_numbers("llama3.1-70b", Family::llama, {8192, 80, 64, 8, 128, 28672, 128256, 131072, 5e5, 1e-5, 8, false});
  expect_numbers("llama3.2-1b", Family::llama, {2048, 16, 32, 8, 64, 8192, 128256, 131072, 5e5, 1e-5, 32, true});
  expect_numbers("llama3.2-3b", Family::llama, {3072, 28, 24, 8, 128, 8192, 128256, 131072, 5e5, 1e-5, 32, true});
  expect_numbers("mistral-7b", Family::mistral, {4096, 32, 32, 8, 128, 14336, 32768, 32768, 1e6, 1e-5, 0, false});
}

TEST(Presets, SizesForMeasuringHaveAVocabularyOfTheirOwn) {
  const auto numbers = [](const char* name) {
    const ModelSettings m = find_preset(name);
    return std::vector<std::int64_t>{m.vocab, m.hidden, m.layers, m.heads, m.kv_heads, m.head_dim, m.ffn};
  };
  EXPECT_EQ(numbers("bench-4m"), (std::vector<std::int64_t>{4096, 256, 4, 4, 2, 64, 768}));
  EXPECT_EQ(numbers("bench-35m"), (std::vector<std::int64_t>{32000, 512, 6, 8, 4, 64, 1536}));
  EXPECT_EQ(numbers("gpt2-tiny"), (std::vector<std::int64_t>{4096, 256, 4, 4, 4, 64, 1024}));
  EXPECT_EQ(find_preset("gpt2-tiny").max_positions, 1024);
}

TEST(Presets, OurSizesTakeTheTokenizersVocabulary) {
  for (const auto* name : {"qwen3-tiny", "qwen3-small", "qwen3-medium", "qwen3-large"}) {
    EXPECT_EQ(find_preset(name).vocab, 0) << name;
  }
}

TEST(Presets, EveryPresetHasHeadsThatFit) {
  for (const auto& name : preset_names()) {
    const ModelSettings m = find_preset(name);
    EXPECT_EQ(m.heads % m.kv_heads, 0) << name;
    EXPECT_EQ(m.head_dim % 2, 0) << name;
    if (m.architecture == Family::gpt2) {
      EXPECT_EQ(m.heads * m.head_dim, m.hidden) << name;
    }
  }
}

TEST(Presets, AnUnknownNameGetsTheNearest) {
  const auto message = [](const char* name) -> std::string {
    try {
      find_preset(name);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("qwen3-0.6"), "model.preset 'qwen3-0.6' is unknown: did you mean qwen3-0.6b?");
  EXPECT_EQ(message("smal"), "model.preset 'smal' is unknown: did you mean qwen3-small?");
  EXPECT_EQ(message("gpt2-124"), "model.preset 'gpt2-124' is unknown: did you mean gpt2-124m?");
  EXPECT_NE(message("completely-different-thing").find("the presets are qwen3-tiny, "), std::string::npos);
}

}  // namespace

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
              HasSubstr("train.preset balanced sets only the batch, because model.preset"));
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
