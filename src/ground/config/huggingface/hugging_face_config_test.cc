#include "config/huggingface/hugging_face_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/config_test_support.h"
#include "config/presets.h"

namespace troika::config {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// config.json as it is published beside the weights, but for what is only the tokenizer's.
const char qwen3_06b[] = R"({
  "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 151643,
  "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02,
  "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
  "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
  "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
  "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true, "use_sliding_window": false,
  "vocab_size": 151936})";

const char qwen25_05b[] = R"({
  "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151643,
  "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
  "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2", "num_attention_heads": 14,
  "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1",
  "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})";

const char llama32_1b[] = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
  "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0",
  "use_cache": true, "vocab_size": 128256})";

const char mistral_7b[] = R"({
  "architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
  "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.42.0.dev0", "use_cache": true,
  "vocab_size": 32768})";

const char gpt2_124m[] = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
  "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
  "summary_type": "cls_index", "summary_use_proj": true,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})";

ModelSettings parse(const std::string& text) { return parse_hugging_face_config(text, "config.json"); }

// `text` with the members of `changes` set, those that are null removed.
std::string changed(const char* text, const json& changes) {
  json j = json::parse(text);
  for (const auto& [key, value] : changes.items()) {
    if (value.is_null()) {
      j.erase(key);
    } else {
      j[key] = value;
    }
  }
  return j.dump();
}

std::string problem(const std::string& text) {
  try {
    parse(text);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "no DataError was thrown";
}

std::string problem(const char* text, const json& changes) { return problem(changed(text, changes)); }

std::string as_yaml(ModelSettings model) {
  model.preset = no_preset;
  Settings settings;
  settings.model = model;
  return to_yaml(settings);
}

TEST(HuggingFaceConfig, ThePublishedFilesGiveTheNumbersOfThePresets) {
  EXPECT_EQ(as_yaml(parse(qwen3_06b)), as_yaml(find_preset("qwen3-0.6b")));
  EXPECT_EQ(as_yaml(parse(qwen25_05b)), as_yaml(find_preset("qwen2.5-0.5b")));
  EXPECT_EQ(as_yaml(parse(llama32_1b)), as_yaml(find_preset("llama3.2-1b")));
  EXPECT_EQ(as_yaml(parse(mistral_7b)), as_yaml(find_preset("mistral-7b")));
  ModelSettings gpt2 = find_preset("gpt2-124m");
  EXPECT_EQ(as_yaml(parse(gpt2_124m)), as_yaml(gpt2));
  EXPECT_EQ(parse(qwen3_06b).preset, "none");
  EXPECT_EQ(parse(qwen3_06b).path, "");
}

TEST(HuggingFaceConfig, WhatIsNotStatedTakesTheDefaultsOfTheFamily) {
  const auto numbers = [](const char* text) {
    const ModelSettings m = parse(text);
    EXPECT_EQ(m.rope_theta, m.architecture == Family::gpt2 || m.architecture == Family::gemma3_text ? 1e6
                            : m.architecture == Family::smollm3                                     ? 2e6
                                                                                                    : 1e4)
        << text;
    EXPECT_EQ(m.norm_eps, m.architecture == Family::gpt2 ? 1e-5 : 1e-6) << text;
    EXPECT_EQ(m.tie_embeddings, m.architecture == Family::gpt2 || m.architecture == Family::gemma3_text || m.architecture == Family::smollm3)
        << text;
    EXPECT_EQ(m.init_std, 0.02) << text;
    return std::vector<std::int64_t>{m.vocab, m.hidden,   m.ffn,      m.layers,
                                     m.heads, m.kv_heads, m.head_dim, m.max_positions};
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers(R"({"model_type": "qwen3"})"), (Numbers{151936, 4096, 22016, 32, 32, 32, 128, 32768}));
  EXPECT_EQ(numbers(R"({"model_type": "qwen2"})"), (Numbers{151936, 4096, 22016, 32, 32, 32, 128, 32768}));
  EXPECT_EQ(numbers(R"({"model_type": "llama"})"), (Numbers{32000, 4096, 11008, 32, 32, 32, 128, 2048}));
  EXPECT_EQ(numbers(R"({"model_type": "mistral", "sliding_window": null})"),
            (Numbers{32000, 4096, 14336, 32, 32, 8, 128, 131072}));
  EXPECT_EQ(numbers(R"({"model_type": "gemma3_text"})"), (Numbers{262208, 2304, 9216, 26, 8, 4, 256, 131072}));
  EXPECT_EQ(numbers(R"({"model_type": "smollm3"})"), (Numbers{128256, 2048, 11008, 36, 16, 4, 128, 32768}));
  EXPECT_EQ(numbers(R"({"model_type": "granite"})"), (Numbers{32000, 4096, 11008, 32, 32, 32, 128, 2048}));
  EXPECT_EQ(numbers(R"({"model_type": "gpt2"})"), (Numbers{50257, 768, 3072, 12, 12, 12, 64, 1024}));
}

TEST(HuggingFaceConfig, HeadWidthsAndKeyHeadsThatAreNotStatedFollowFromTheOthers) {
  EXPECT_EQ(parse(changed(llama32_1b, {{"num_key_value_heads", nullptr}})).kv_heads, 32);
  EXPECT_EQ(parse(changed(llama32_1b, {{"head_dim", nullptr}, {"hidden_size", 4096}})).head_dim, 128);
  EXPECT_EQ(parse(changed(qwen25_05b, {{"head_dim", 80}})).head_dim, 80);
  EXPECT_EQ(parse(R"({"model_type": "mistral", "sliding_window": null, "num_key_value_heads": null})").kv_heads, 32);
  EXPECT_EQ(parse(changed(gpt2_124m, {{"n_inner", 100}})).ffn, 100);
}

TEST(HuggingFaceConfig, NewerFilesKeepTheRotaryNumbersInOneObject) {
  const json llama3 = {{"rope_theta", 5e5},    {"rope_type", "llama3"}, {"factor", 8},
                       {"low_freq_factor", 1}, {"high_freq_factor", 4}, {"original_max_position_embeddings", 8192}};
  const ModelSettings m =
      parse(changed(llama32_1b, {{"rope_scaling", nullptr}, {"rope_theta", nullptr}, {"rope_parameters", llama3}}));
  EXPECT_EQ(m.rope_theta, 5e5);
  EXPECT_EQ(m.rope_scaling, RopeScaling::llama3);
  EXPECT_EQ(m.rope_factor, 8);
  const ModelSettings plain = parse(changed(
      qwen3_06b, {{"rope_theta", nullptr}, {"rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "default"}}}}));
  EXPECT_EQ(as_yaml(plain), as_yaml(find_preset("qwen3-0.6b")));
}

TEST(HuggingFaceConfig, LinearScalingAndItsOlderSpellingAreRead) {
  for (const char* key : {"rope_type", "type"}) {
    const ModelSettings m = parse(changed(llama32_1b, {{"rope_scaling", {{key, "linear"}, {"factor", 4}}}}));
    EXPECT_EQ(m.rope_scaling, RopeScaling::linear);
    EXPECT_EQ(m.rope_factor, 4);
  }
  EXPECT_EQ(parse(changed(llama32_1b, {{"rope_scaling", {{"type", "default"}}}})).rope_scaling, RopeScaling::none);
}

TEST(HuggingFaceConfig, YarnIsReadWithWhatItLeavesOpen) {
  const ModelSettings m = parse(changed(qwen25_05b, {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}}}}));
  EXPECT_EQ(m.rope_scaling, RopeScaling::yarn);
  EXPECT_EQ(m.rope_factor, 4);
  EXPECT_EQ(m.rope_original_positions, 8192);
  EXPECT_EQ(m.rope_beta_fast, 32);
  EXPECT_EQ(m.rope_attention_factor, 0);
  const ModelSettings scaled = parse(changed(qwen25_05b, {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 40}, {"mscale", 0.707}, {"mscale_all_dim", 1.0}}}}));
  EXPECT_EQ(scaled.rope_original_positions, scaled.max_positions);
  EXPECT_NEAR(scaled.rope_attention_factor, (0.0707 * std::log(40) + 1) / (0.1 * std::log(40) + 1), 1e-12);
  EXPECT_EQ(parse(changed(llama32_1b, {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}})).rope_scaling, RopeScaling::dynamic);
}

TEST(HuggingFaceConfig, OtherScalingsOfRotaryPositionsAreRefusedByName) {
  EXPECT_THAT(problem(qwen25_05b, {{"rope_scaling", {{"type", "longrope"}, {"factor", 4.0}}}}),
              HasSubstr("rope_scaling.type is \"longrope\": only default, linear, llama3, yarn and dynamic are supported"));
  EXPECT_THAT(problem(qwen25_05b, {{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}, {"truncate", false}}}}), HasSubstr("truncate is false"));
  EXPECT_THAT(problem(llama32_1b, {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}}),
              AllOf(HasSubstr("rope_scaling.low_freq_factor is absent: llama3 needs it"),
                    HasSubstr("rope_scaling.high_freq_factor is absent"),
                    HasSubstr("rope_scaling.original_max_position_embeddings is absent")));
  EXPECT_THAT(problem(llama32_1b, {{"rope_parameters", {{"rope_theta", 1e4}}}}), HasSubstr("one of them is needed"));
  EXPECT_THAT(problem(qwen3_06b, {{"rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}}}),
              HasSubstr("rope_parameters is"));
  EXPECT_THAT(problem(qwen3_06b, {{"rope_scaling", 4}}), HasSubstr("rope_scaling is 4"));
  EXPECT_THAT(problem(llama32_1b, {{"rope_scaling",
                                    {{"rope_type", "llama3"},
                                     {"factor", 8},
                                     {"low_freq_factor", 4},
                                     {"high_freq_factor", 4},
                                     {"original_max_position_embeddings", 8192}}}}),
              HasSubstr("model.rope_low_freq_factor 4 is not below model.rope_high_freq_factor 4"));
}

TEST(HuggingFaceConfig, EverythingThatIsNotSupportedIsToldAtOnce) {
  const std::string text = problem(qwen3_06b, {{"hidden_act", "relu"},
                                               {"num_experts", 8},
                                               {"attention_bias", true},
                                               {"quantization_config", {{"bits", 4}}},
                                               {"layer_types", json::array_t(28, "chunked_attention")}});
  EXPECT_THAT(text, HasSubstr("config.json describes a model that is not supported:\n"));
  EXPECT_THAT(text, HasSubstr("  hidden_act is \"relu\": only \"silu\" or \"swish\" is supported\n"));
  EXPECT_THAT(text, HasSubstr("  num_experts is 8: only 0 is supported"));
  EXPECT_THAT(text, HasSubstr("  attention_bias is true: only false is supported"));
  EXPECT_THAT(text, HasSubstr("  quantization_config is {\"bits\":4}: this is not supported"));
  EXPECT_THAT(text, HasSubstr("layer 0 has \"chunked_attention\", and only \"full_attention\" and \"sliding_attention\" are supported"));
}

TEST(HuggingFaceConfig, EachMemberThatChangesTheComputationIsRefused) {
  for (const auto& [key, value] : {std::pair<const char*, json>{"pretraining_tp", 2},
                                   {"mlp_bias", true},
                                   {"attention_bias", true},
                                   {"num_local_experts", 8},
                                   {"partial_rotary_factor", 0.5},
                                   {"attn_logit_softcapping", 50.0},
                                   {"final_logit_softcapping", 30.0},
                                   {"embedding_multiplier", 12.0},
                                   {"logits_scaling", 8.0},
                                   {"pruned_heads", {{"0", {1}}}},
                                   {"is_encoder_decoder", true},
                                   {"hidden_act", "gelu"},
                                   {"architectures", {"LlamaForSequenceClassification"}},
                                   {"auto_map", {{"AutoModelForCausalLM", "modeling_x.X"}}},
                                   {"model_type", "mixtral"}})
    EXPECT_THAT(problem(llama32_1b, {{key, value}}), HasSubstr(std::string("  ") + key + " is ")) << key;
  for (const auto& [key, value] : {std::pair<const char*, json>{"activation_function", "relu"},
                                   {"scale_attn_weights", false},
                                   {"scale_attn_by_inverse_layer_idx", true},
                                   {"reorder_and_upcast_attn", true},
                                   {"add_cross_attention", true},
                                   {"n_head", 5}})
    EXPECT_THAT(problem(gpt2_124m, {{key, value}}), HasSubstr(std::string("  ") + key + " is ")) << key;
}

TEST(HuggingFaceConfig, NeutralAndUnknownMembersArePassedOver) {
  EXPECT_NO_THROW(parse(changed(llama32_1b, {{"num_experts", 0},
                                             {"pruned_heads", json::object()},
                                             {"partial_rotary_factor", 1.0},
                                             {"layer_types", json::array_t(16, "full_attention")},
                                             {"attention_dropout", 0.1},
                                             {"a_member_that_nobody_knows", {1, 2, 3}}})));
  EXPECT_NO_THROW(parse(changed(qwen25_05b, {{"attention_bias", true}})));  // which it has
}

TEST(HuggingFaceConfig, AWindowOfMistralIsThatOfEveryLayerUnlessNoSequenceIsLonger) {
  EXPECT_EQ(parse(changed(mistral_7b, {{"sliding_window", 4096}})).sliding_window, 4096);
  EXPECT_EQ(parse(changed(mistral_7b, {{"sliding_window", 4096}})).layer_types, "");
  json absent = json::parse(mistral_7b);
  absent.erase("sliding_window");
  EXPECT_EQ(parse(absent.dump()).sliding_window, 4096);
  for (const json& window : {json(32768), json(0), json(-1)}) EXPECT_EQ(parse(changed(mistral_7b, {{"sliding_window", window}})).sliding_window, 0);
  EXPECT_THAT(problem(mistral_7b, {{"sliding_window", "wide"}}), HasSubstr("sliding_window is \"wide\""));
}

TEST(HuggingFaceConfig, LayersOfOtherKindsBecomeTheShortestRepeatedLetters) {
  const ModelSettings qwen = parse(changed(qwen25_05b, {{"use_sliding_window", true}, {"sliding_window", 100}, {"max_window_layers", 21}}));
  EXPECT_EQ(qwen.layer_types, std::string(21, 'f') + "www");
  EXPECT_EQ(qwen.sliding_window, 100);
  const ModelSettings gemma = parse(R"({"model_type": "gemma3_text", "sliding_window": 512, "query_pre_attn_scalar": 168})");
  EXPECT_EQ(gemma.layer_types, "wwwwwf");
  EXPECT_EQ(gemma.rope_local_theta, 1e4);
  EXPECT_EQ(gemma.attention_scale, 1 / std::sqrt(168.0));
  EXPECT_EQ(parse(R"({"model_type": "smollm3"})").layer_types, "fffn");
  EXPECT_EQ(parse(R"({"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [0, 1, 1]})").layer_types, "nff");
  EXPECT_THAT(problem(qwen3_06b, {{"layer_types", {"full_attention"}}}), HasSubstr("a list of 28 types is needed, one for each layer"));
  EXPECT_THAT(problem(qwen3_06b, {{"layer_types", json::array_t(28, "sliding_attention")}}), HasSubstr("layers with a window, and sliding_window is absent"));
}

TEST(HuggingFaceConfig, TheTextPartOfAGemmaThatReadsImagesIsTaken) {
  const ModelSettings m = parse(R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "vision_config": {"hidden_size": 1152},
    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "intermediate_size": 10240, "sliding_window": 1024,
                    "rope_scaling": {"rope_type": "linear", "factor": 8.0}}})");
  EXPECT_EQ(m.architecture, Family::gemma3_text);
  EXPECT_EQ(as_yaml(m), as_yaml(find_preset("gemma3-4b")));
}

TEST(HuggingFaceConfig, HostileValuesAreRefused) {
  for (const json& value : {json(-1), json(0), json(1e300), json("1024"), json(1.5), json(18446744073709551615U),
                            json(true), json::array(), json::object()})
    EXPECT_THAT(problem(qwen3_06b, {{"hidden_size", value}}), HasSubstr("hidden_size is ")) << value;
  for (const json& value : {json(-1), json(0.5), json(1e300), json("x")})
    EXPECT_THAT(problem(qwen3_06b, {{"rope_theta", value}}), HasSubstr("rope_theta is ")) << value;
  for (const json& value : {json(-1e-6), json(2), json("1e-6")})
    EXPECT_THAT(problem(qwen3_06b, {{"rms_norm_eps", value}}), HasSubstr("rms_norm_eps is ")) << value;
  EXPECT_THAT(problem(qwen3_06b, {{"tie_word_embeddings", 1}}), HasSubstr("true or false"));
  EXPECT_THAT(problem(qwen3_06b, {{"num_hidden_layers", 1000000000}}), HasSubstr("from 1 to 10000 is needed"));
  EXPECT_THAT(problem(qwen3_06b, {{"model_type", 3}}), HasSubstr("model_type is 3"));
  EXPECT_THAT(problem(qwen3_06b, {{"model_type", nullptr}}), HasSubstr("model_type is absent"));
  EXPECT_THAT(problem(qwen3_06b, {{"num_key_value_heads", 32}}), HasSubstr("not a multiple of model.kv_heads 32"));
  EXPECT_THAT(problem(qwen3_06b, {{"head_dim", 127}}), HasSubstr("model.head_dim 127 is odd"));
  EXPECT_THAT(problem(qwen25_05b, {{"num_attention_heads", 13}}), HasSubstr("head_dim is absent: hidden_size 896"));
  EXPECT_LT(problem(qwen3_06b, {{"hidden_act", std::string(100000, 'x')}}).size(), 300U);
  EXPECT_THAT(problem("[]"), HasSubstr("config.json is not a JSON object"));
  EXPECT_THAT(problem("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(problem("{\"hidden_size\": 1e999}"), HasSubstr("config.json"));
}

}  // namespace
}  // namespace troika::config
