#include "config/presets.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
  EXPECT_NE(message("completely-different-thing").find("the presets are qwen3-tiny, "), std::string::npos);
}

}  // namespace
}  // namespace troika::config
