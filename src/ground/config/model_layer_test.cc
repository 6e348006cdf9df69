#include "config/model_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "config/config_test_support.h"
#include "config/huggingface/model_folder.h"
#include "config/lora.h"

namespace troika::config {
namespace {

using testing::HasSubstr;
using testing::Not;

class ModelLayer : public testing::Test {
 protected:
  void SetUp() override {
    base::make_directories(folder_);
    base::write_file_atomic(folder_ + "/config.json", R"({
      "model_type": "qwen2", "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 3,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 512,
      "tie_word_embeddings": true, "rope_theta": 1000000.0})");
  }
  void TearDown() override { base::remove_tree(folder_); }
  std::string yaml(const std::string& text) const { return temporary_file("model-layer.yaml", text); }
  const std::string folder_ = testing::TempDir() + "model-layer-" + std::to_string(::getpid());
};

TEST_F(ModelLayer, APathGivesTheNumbersOfItsConfiguration) {
  const Settings s = parsed({"--model.path", folder_});
  EXPECT_EQ(s.model.architecture, Family::qwen2);
  EXPECT_EQ(s.model.hidden, 64);
  EXPECT_EQ(s.model.layers, 3);
  EXPECT_EQ(s.model.head_dim, 16);
  EXPECT_EQ(s.model.vocab, 300);
  EXPECT_EQ(s.model.path, folder_);
  EXPECT_EQ(s.model.preset, "none");
  EXPECT_EQ(s.data.tokenizer, "bytes");
}

TEST_F(ModelLayer, WhatIsPrintedParsesBackWithAndWithoutTheFolder) {
  const Settings s = resolved({"--model_name_or_path", folder_, "--model.max_positions", "1024"}, 1).settings;
  EXPECT_EQ(s.model.max_positions, 1024);
  EXPECT_EQ(to_yaml(parsed({yaml(to_yaml(s))})), to_yaml(s));
  base::remove_tree(folder_);
  EXPECT_EQ(to_yaml(settings_from_yaml(to_yaml(s), "stored")), to_yaml(s));
  EXPECT_THROW(parsed({yaml(to_yaml(s))}), base::DataError);
}

TEST_F(ModelLayer, SettingsThatContradictTheConfigurationAreErrorsEqualOnesAreNot) {
  const std::string text = parse_error({"--model.path", folder_, "--model.hidden", "128", "--model.architecture",
                                        "llama", "--model.rope_theta", "1e4", "--model.tie_embeddings", "false"});
  EXPECT_THAT(
      text, HasSubstr("model.hidden 128 (--model.hidden) contradicts 64 in " + folder_ + "/config.json; leave it out"));
  EXPECT_THAT(text, HasSubstr("model.architecture llama (--model.architecture) contradicts qwen2"));
  EXPECT_THAT(text, HasSubstr("model.rope_theta"));
  EXPECT_THAT(text, HasSubstr("model.tie_embeddings false"));
  EXPECT_EQ(parsed({"--model.path", folder_, "--model.hidden", "64", "--model.rope_theta", "1000000",
                    "--model.init_std", "0.1", "--model.vocab", "0"})
                .model.vocab,
            300);
  const std::string file = yaml("model: {hidden: 999}\n");
  EXPECT_THAT(parse_error({file, "--model.path", folder_}), HasSubstr("model-layer.yaml line 1) contradicts 64"));
}

TEST_F(ModelLayer, APresetOfTheSameOrAHigherPlaceIsAnError) {
  EXPECT_THAT(parse_error({"--model.path", folder_, "--model-size", "tiny"}),
              HasSubstr("model.preset tiny (--model-size) and model.path " + folder_ + " (--model.path) both set the model"));
  const std::string file = yaml("model: {path: " + folder_ + "}\n");
  EXPECT_THAT(parse_error({file, "--model.preset", "qwen3-small"}), HasSubstr("both set the model; keep one"));
}

TEST_F(ModelLayer, APresetOfALowerPlaceIsReplaced) {
  const std::string file = yaml("model: {preset: qwen3-small}\n");
  const ParsedSettings result = parse_settings({file, "--model.path", folder_}, {});
  EXPECT_EQ(result.settings.model.hidden, 64);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0].english, HasSubstr("model.preset qwen3-small"));
}

TEST_F(ModelLayer, AnEmptyPathOfAHigherPlaceIsNone) {
  const std::string file = yaml(to_yaml(parsed({"--model.path", folder_})));
  const Settings s = parsed({file, "--model.path="});
  EXPECT_EQ(s.model.path, "");
  EXPECT_EQ(s.model.hidden, 64);
}

TEST_F(ModelLayer, TheFoldersTokenizerIsTakenWhereNoneIsStated) {
  EXPECT_EQ(parsed({"--model.path", folder_}).data.tokenizer, "bytes");
  base::write_file_atomic(folder_ + "/tokenizer.model", "");
  EXPECT_EQ(parsed({"--model.path", folder_}).data.tokenizer, folder_);
  EXPECT_EQ(tokenizer_file(folder_), folder_ + "/tokenizer.model");
  base::write_file_atomic(folder_ + "/tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_file(folder_), folder_ + "/tokenizer.json");
  EXPECT_EQ(parsed({"--model.path", folder_}).data.tokenizer, folder_);
  EXPECT_EQ(parsed({"--model.path", folder_, "--data.tokenizer", "bytes"}).data.tokenizer, "bytes");
}

TEST_F(ModelLayer, ACheckpointsTokenizerIsThatOfItsManifest) {
  const std::string step = folder_ + "/checkpoints/step-00000004";
  base::make_directories(step + "/model");
  base::rename_path(folder_ + "/config.json", step + "/model/config.json");
  EXPECT_EQ(parsed({"--model.path", step}).data.tokenizer, "bytes");
  base::write_file_atomic(step + "/manifest.json", R"({"format": "troika-checkpoint", "extra": {"tokenizer": "some/vocabulary"}})");
  EXPECT_EQ(parsed({"--model.path", step}).data.tokenizer, "some/vocabulary");
  EXPECT_EQ(parsed({"--model.path", folder_}).data.tokenizer, "some/vocabulary");
  EXPECT_EQ(parsed({"--model.path", folder_, "--data.tokenizer", "bytes"}).data.tokenizer, "bytes");
  base::write_file_atomic(step + "/manifest.json", R"({"format": "troika-checkpoint"})");
  EXPECT_THROW(parsed({"--model.path", step}), base::DataError);
}

TEST_F(ModelLayer, ACheckpointsOwnCopyOfTheTokenizerIsTakenBeforeThePathInItsManifest) {
  const std::string step = folder_ + "/checkpoints/step-00000004", copy = step + "/model/tokenizer.json";
  base::make_directories(step + "/model");
  base::rename_path(folder_ + "/config.json", step + "/model/config.json");
  base::write_file_atomic(copy, "{}");
  base::write_file_atomic(step + "/manifest.json",
                          R"({"format": "troika-checkpoint", "extra": {"tokenizer": "some/vocabulary"},
                          "files": [{"file": "model/tokenizer.json",
                          "xxh3": ")" +
                              base::hash_bytes("{}") + "\"}]}");
  EXPECT_EQ(parsed({"--model.path", folder_}).data.tokenizer, step + "/model");
  base::write_file_atomic(copy, "{ }");
  EXPECT_THROW(parsed({"--model.path", folder_}), base::DataError);
  EXPECT_EQ(parsed({"--model.path", folder_, "--data.tokenizer", "bytes"}).data.tokenizer, "bytes");
}

// An adapter's folder below the model's.
static std::string adapter(const std::string& model, const std::string& name, const std::string& config) {
  const std::string path = model + "/" + name;
  base::make_directories(path);
  base::write_file_atomic(path + "/adapter_config.json", config);
  return path;
}

TEST_F(ModelLayer, AnAdaptersModelIsThatOfItsBase) {
  const std::string names_it = adapter(folder_, "a", R"({"base_model_name_or_path": ")" + folder_ + "\"}");
  const Settings s = parsed({"--model.path", names_it});
  EXPECT_EQ(s.model.path, names_it);
  EXPECT_EQ(s.model.layers, 3);
  EXPECT_EQ(s.model.base, "");
  EXPECT_EQ(parsed({adapter(folder_, "b", "{}"), "--base", folder_}).model.hidden, 64);
  const std::string on_adapter = adapter(folder_, "c", R"({"base_model_name_or_path": ")" + names_it + "\"}");
  EXPECT_EQ(parsed({on_adapter}).model.hidden, 64);
  EXPECT_EQ(parsed({yaml(to_yaml(parsed({folder_ + "/b", "--base", folder_})))}).model.base, folder_);
}

TEST_F(ModelLayer, AnAdaptersTokenizerIsItsOwnOrThatOfItsBase) {
  const std::string path = adapter(folder_, "a", R"({"base_model_name_or_path": ")" + folder_ + "\"}");
  EXPECT_EQ(parsed({path}).data.tokenizer, "bytes");
  base::write_file_atomic(folder_ + "/tokenizer.json", "{}");
  EXPECT_EQ(parsed({path}).data.tokenizer, folder_);
  base::write_file_atomic(path + "/tokenizer.json", "{}");
  EXPECT_EQ(parsed({path}).data.tokenizer, path);
}

TEST_F(ModelLayer, AnAdapterWhoseBaseIsElsewhereSaysHowToNameIt) {
  const std::string path = adapter(folder_, "a", R"({"base_model_name_or_path": "Some/Model-8B"})");
  EXPECT_THAT(parse_error({path}),
              testing::AllOf(HasSubstr(path), HasSubstr("Some/Model-8B"), HasSubstr("--base PATH")));
  EXPECT_THAT(parse_error({"--base", folder_}),
              HasSubstr("is the base of an adapter; name the adapter with model.path"));
  base::write_file_atomic(path + "/adapter_config.json", R"({"base_model_name_or_path": ")" + path + "\"}");
  EXPECT_THROW(parsed({path}), base::DataError);
}

TEST_F(ModelLayer, AFolderWithoutAFlagIsThePathAlsoBehindASwitch) {
  EXPECT_EQ(parsed({folder_}).model.path, folder_);
  const Settings s = parsed({"--bf16", folder_, "--steps", "3"});
  EXPECT_EQ(s.model.path, folder_);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_EQ(parsed({yaml("train: {steps: 7}\n"), folder_}).train.steps, 7);
}

TEST_F(ModelLayer, APathWithoutAModelIsTheFilesErrorOrOneOfSeveral) {
  EXPECT_THROW(parsed({"--model.path", folder_ + "/absent"}), base::DataError);
  const std::string text = parse_error({"--model.path", folder_ + "/absent", "--stepz", "3"});
  EXPECT_THAT(text, HasSubstr("is not a local folder"));
  EXPECT_THAT(text, HasSubstr("--stepz"));
}

TEST_F(ModelLayer, TheFirstLayersCanBeKeptAndTheRunsOwnSettingsReadBack) {
  const std::string layers = std::to_string(parsed({"--model.path", folder_}).model.layers - 1);
  const Settings kept = resolved({"--model.path", folder_, "--middle-layers", layers}, 1).settings;
  EXPECT_EQ(std::to_string(kept.model.layers), layers);
  EXPECT_EQ(std::to_string(parsed({yaml(to_yaml(kept))}).model.layers), layers);
  EXPECT_THAT(parse_error({"--model.path", folder_, "--model.layers", "999"}), HasSubstr("model.layers 999"));
}

TEST_F(ModelLayer, RanksAgreeOnTheNumbersNotOnThePath) {
  const Settings here = parsed({"--model.path", folder_});
  Settings there = here;
  there.model.path = "/elsewhere";
  EXPECT_EQ(agreement_hash(here), agreement_hash(there));
  there.model.rope_scaling = RopeScaling::linear;
  EXPECT_NE(agreement_hash(here), agreement_hash(there));
}

}  // namespace

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
  EXPECT_THAT(complaint(*this / "m"), HasSubstr("is a full model; name an adapter"));
  EXPECT_THAT(complaint(*this / "none"), HasSubstr("is not a local folder"));
  EXPECT_THAT(complaint("Some/Adapter"), HasSubstr("looks like a model's name on the Hugging Face Hub"));
  EXPECT_THAT(complaint(*this / "a/adapter_config.json"), HasSubstr("is a file; give the folder"));
  base::make_directories(*this / "empty");
  EXPECT_THAT(complaint(*this / "empty"), HasSubstr("holds no adapter"));
  write_adapter(R"("exclude_modules": ".*layers\\.1\\..*")");
  EXPECT_THAT(complaint(*this / "a"), HasSubstr("has an adapter in some layers but not in others (layer 1)"));
  EXPECT_THAT(resolve_error({"--lora.path", *this / "r0", "--lora.rank", "4"}, 1), HasSubstr("model.path is not set"));
}

}  // namespace

}  // namespace troika::config
