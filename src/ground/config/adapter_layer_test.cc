#include "config/adapter_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "config/adapter_sizes.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using FlagWords = std::vector<std::string>;

class AdapterLayer : public testing::Test {
 protected:
  void SetUp() override {
    write("m/config.json", R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 3,
      "num_attention_heads": 4, "vocab_size": 300, "max_position_embeddings": 512})");
    write_adapter(R"("use_rslora": true, "rank_pattern": {"v_proj": 16}, "alpha_pattern": {"layers.2.*v_proj": 6})");
  }
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    base::make_directories((*this / name).substr(0, (*this / name).rfind('/')));
    base::write_file_atomic(*this / name, text);
  }
  void write_adapter(const std::string& more) const {
    write("a/adapter_config.json", R"({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "lora_dropout": 0.05,
      "target_modules": ["v_proj", "q_proj", "o_proj"], "exclude_modules": ["o_proj"], )" + more + "}");
  }
  FlagWords with(const FlagWords& more) const {
    FlagWords words{"--model.path", *this / "m", "--lora.path", *this / "a"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  const base::TemporaryFolder folder_;
};

TEST_F(AdapterLayer, WhatIsNotStatedIsAsTheAdapterSays) {
  const ParsedSettings parsed_settings = parse_settings(with({}), {});
  const LoraSettings& lora = parsed_settings.settings.lora;
  EXPECT_EQ(lora.rank, 4);
  EXPECT_EQ(lora.alpha, 8);
  EXPECT_TRUE(lora.rslora);
  EXPECT_EQ(lora.targets, "q_proj,v_proj");
  EXPECT_EQ(lora.rank_pattern, "v_proj:16");
  EXPECT_EQ(lora.alpha_pattern, "layers.2.self_attn.v_proj:6");
  EXPECT_EQ(lora.dropout, 0.05);
  EXPECT_THAT(in_english(parsed_settings.notes), ElementsAre(AllOf(HasSubstr("rank 4, alpha 8 (rsLoRA)"), HasSubstr("v_proj:16"),
                                                       HasSubstr("targets q_proj,v_proj, dropout 0.05"))));
  EXPECT_EQ(parsed(with({"--lora.dropout", "0"})).lora.dropout, 0) << "dropout is free";
  EXPECT_EQ(to_yaml(parsed({temporary_file("adapter-layer.yaml", to_yaml(parsed(with({}))))})), to_yaml(parsed(with({}))));
}

TEST_F(AdapterLayer, WhatContradictsTheAdapterIsRefusedByName) {
  for (const auto& [flag, value, complaint] :
       {std::tuple{"--lora.rank", "8", "lora.rank 8 (--lora.rank) contradicts 4 in "},
        {"--lora.alpha", "16", "lora.alpha 16 (--lora.alpha) contradicts 8 in "},
        {"--use_rslora", "false", "lora.rslora false (--use_rslora) contradicts true in "},
        {"--lora.targets", "q_proj", "lora.targets q_proj (--lora.targets) contradicts q_proj,v_proj in "},
        {"--lora.rank_pattern", "v_proj:8", "contradicts v_proj:16 in "},
        {"--lora.alpha_pattern", "v_proj:6", "contradicts layers.2.self_attn.v_proj:6 in "}})
    EXPECT_THAT(parse_error(with({flag, value})), AllOf(HasSubstr(complaint), HasSubstr("a/adapter_config.json; leave it out")));
  EXPECT_EQ(parsed(with({"--lora.rank", "4", "--lora.targets", "v_proj,q_proj", "--lora.alpha", "8"})).lora.rank, 4);
}

TEST_F(AdapterLayer, TheSameAdaptersInOtherWordsPass) {
  write_adapter(R"("use_rslora": true)");
  const LoraSettings lora = parsed(with({"--lora.rank", "4", "--lora.targets", "q_proj,v_proj", "--lora.alpha", "16"})).lora;
  EXPECT_FALSE(lora.rslora) << "as runs of before were told to state it";
  EXPECT_EQ(usual_size(lora).scale, 4);
}

TEST_F(AdapterLayer, ARunSaysItInItsManifest) {
  write("r/checkpoints/step-00000002/manifest.json", R"({"format": "troika-checkpoint",
    "settings_yaml": "lora: {rank: 3, alpha: 5, targets: q_proj, rank_pattern: 'layers.1.q_proj:2', path: gone}"})");
  for (const char* below : {"r", "r/checkpoints", "r/checkpoints/step-00000002/"}) {
    const LoraSettings lora = parsed({"--model.path", *this / "m", "--lora.path", *this / below}).lora;
    EXPECT_EQ(lora.rank, 3);
    EXPECT_EQ(lora.rank_pattern, "layers.1.q_proj:2");
    EXPECT_EQ(lora.path, *this / below);
  }
}

TEST_F(AdapterLayer, WhatIsNoAdapterIsRefused) {
  const auto complaint = [&](const std::string& path) -> std::string {
    try {
      parsed({"--model.path", *this / "m", "--lora.path", path});
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint(*this / "m"), HasSubstr("is a whole model; name an adapter"));
  EXPECT_THAT(complaint(*this / "none"), HasSubstr("is not a folder here"));
  EXPECT_THAT(complaint("Some/Adapter"), HasSubstr("looks like a model's name on the Hugging Face Hub"));
  EXPECT_THAT(complaint(*this / "a/adapter_config.json"), HasSubstr("is a file; give the folder"));
  base::make_directories(*this / "empty");
  EXPECT_THAT(complaint(*this / "empty"), HasSubstr("holds no adapter"));
  write_adapter(R"("exclude_modules": ".*layers\\.1\\..*")");
  EXPECT_THAT(complaint(*this / "a"), HasSubstr("has an adapter in some layers and none in others (layer 1)"));
  EXPECT_THAT(resolve_error({"--lora.path", *this / "r0", "--lora.rank", "4"}, 1), HasSubstr("model.path is not set"));
}

}  // namespace
}  // namespace troika::config
