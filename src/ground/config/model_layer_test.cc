#include "config/model_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "config/config_test_support.h"

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
              HasSubstr("model.preset tiny (--model-size) and model.path " + folder_ + " (--model.path) both say"));
  const std::string file = yaml("model: {path: " + folder_ + "}\n");
  EXPECT_THAT(parse_error({file, "--model.preset", "qwen3-small"}), HasSubstr("take one"));
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
  base::write_file_atomic(folder_ + "/tokenizer.json", "{}");
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
  EXPECT_THAT(text, HasSubstr("is not a folder"));
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
}  // namespace troika::config
