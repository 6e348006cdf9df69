#include "config/huggingface/hugging_face_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/presets.h"
#include "shape/layout.h"
#include "shape/layout_test_support.h"

namespace troika::shape {
namespace {

TEST(HuggingFaceConfig, OfGpt2HoldsTheNumbersUnderThePublishedKeys) {
  const auto j = nlohmann::json::parse(hugging_face_config(narrow_gpt2(true)));
  EXPECT_EQ(j["architectures"], nlohmann::json({"GPT2LMHeadModel"}));
  EXPECT_EQ(j["model_type"], "gpt2");
  EXPECT_EQ(j["activation_function"], "gelu_new");
  EXPECT_EQ(j["n_embd"], 64);
  EXPECT_EQ(j["n_layer"], 2);
  EXPECT_EQ(j["n_head"], 4);
  EXPECT_EQ(j["n_inner"], 192);
  EXPECT_EQ(j["n_positions"], 40);
  EXPECT_EQ(j["n_ctx"], 40);
  EXPECT_EQ(j["vocab_size"], 259);
  EXPECT_EQ(j["tie_word_embeddings"], true);
  EXPECT_EQ(j["layer_norm_epsilon"], 1e-6);
}

TEST(HuggingFaceConfig, HoldsTheNumbersUnderThePublishedKeys) {
  const auto j = nlohmann::json::parse(hugging_face_config(narrow(true)));
  EXPECT_EQ(j["architectures"], nlohmann::json({"Qwen3ForCausalLM"}));
  EXPECT_EQ(j["model_type"], "qwen3");
  EXPECT_EQ(j["hidden_size"], 64);
  EXPECT_EQ(j["num_hidden_layers"], 2);
  EXPECT_EQ(j["num_attention_heads"], 4);
  EXPECT_EQ(j["num_key_value_heads"], 2);
  EXPECT_EQ(j["head_dim"], 24);
  EXPECT_EQ(j["intermediate_size"], 192);
  EXPECT_EQ(j["vocab_size"], 259);
  EXPECT_EQ(j["tie_word_embeddings"], true);
  EXPECT_EQ(j["rope_theta"], 1e6);
  EXPECT_EQ(j["rms_norm_eps"], 1e-6);
  EXPECT_EQ(j["hidden_act"], "silu");
}

TEST(HuggingFaceConfig, OfQwen2LlamaAndMistralNamesTheirClassesAndWhatTheyKnow) {
  const auto published = [](const std::string& architecture) {
    return nlohmann::json::parse(hugging_face_config(narrow_as(architecture, false)));
  };
  const auto qwen2 = published("qwen2"), llama = published("llama"), mistral = published("mistral");
  EXPECT_EQ(qwen2["architectures"], nlohmann::json({"Qwen2ForCausalLM"}));
  EXPECT_EQ(llama["architectures"], nlohmann::json({"LlamaForCausalLM"}));
  EXPECT_EQ(mistral["architectures"], nlohmann::json({"MistralForCausalLM"}));
  for (const auto& j : {qwen2, llama, mistral}) {
    EXPECT_EQ(j["num_key_value_heads"], 2);
    EXPECT_EQ(j["head_dim"], 24);
    EXPECT_EQ(j["rope_scaling"], nullptr);
    EXPECT_EQ(j["tie_word_embeddings"], false);
  }
  EXPECT_EQ(qwen2["use_sliding_window"], false);
  EXPECT_EQ(llama["attention_bias"], false);
  EXPECT_EQ(llama["mlp_bias"], false);
  EXPECT_TRUE(mistral.contains("sliding_window") && mistral["sliding_window"].is_null());
}

TEST(HuggingFaceConfig, OfEveryFamilyReadsBackAsTheSameModel) {
  const auto printed = [](config::ModelSettings m) {
    config::Settings settings;
    m.preset = config::no_preset;
    settings.model = m;
    return config::to_yaml(settings);
  };
  std::vector<config::ModelSettings> models{narrow_gpt2(true), narrow_gpt2(false)};
  for (const char* architecture : {"qwen3", "qwen2", "llama", "mistral"}) {
    for (const auto scaling : {config::RopeScaling::none, config::RopeScaling::linear, config::RopeScaling::llama3}) {
      models.push_back(narrow_as(architecture, models.size() % 2 == 0));
      models.back().rope_scaling = scaling;
    }
  }
  for (const char* architecture : {"gemma3_text", "smollm3", "granite"}) models.push_back(narrow_as(architecture, true));
  for (config::ModelSettings& m : models) {
    if (m.architecture == config::Family::gemma3_text) {
      m.layers = 6;
      m.layer_types = "wwf";
      m.sliding_window = 100;
      m.rope_local_theta = 3000;
      m.attention_scale = 1 / std::sqrt(168.0);
    }
    if (m.architecture == config::Family::granite) m.attention_scale = 0.015625, m.embedding_scale = 12, m.residual_scale = 0.22, m.logits_divisor = 8;
    if (m.architecture == config::Family::qwen2) m.sliding_window = 64, m.layer_types = "fw", m.rope_scaling = config::RopeScaling::yarn;
  }
  for (const char* preset : {"mistral-7b-v0.1", "gemma3-270m", "gemma3-4b", "smollm3-3b", "qwen3-8b", "qwen2.5-14b", "llama3.1-8b", "mistral-7b", "gpt2-xl"})
    models.push_back(config::find_preset(preset));
  for (const config::ModelSettings& m : models)
    EXPECT_EQ(printed(config::parse_hugging_face_config(hugging_face_config(m), "config.json")), printed(m));
}

TEST(HuggingFaceConfig, WritesScaledFrequenciesAsTheyArePublished) {
  config::ModelSettings m = narrow_as("llama", true);
  m.rope_scaling = config::RopeScaling::llama3;
  m.rope_factor = 32;
  EXPECT_EQ(nlohmann::json::parse(hugging_face_config(m))["rope_scaling"],
            nlohmann::json({{"factor", 32.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192},
                            {"rope_type", "llama3"}}));
  m.rope_scaling = config::RopeScaling::linear;
  EXPECT_EQ(nlohmann::json::parse(hugging_face_config(m))["rope_scaling"],
            nlohmann::json({{"factor", 32.0}, {"rope_type", "linear"}}));
}

}  // namespace
}  // namespace troika::shape
