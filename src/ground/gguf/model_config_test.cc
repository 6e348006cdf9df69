#include "gguf/model_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"
#include "gguf/gguf_test_support.h"
#include "gguf/model_files.h"

namespace troika::gguf {
namespace {
using nlohmann::json;
using testing::HasSubstr;
using testing_support::TestTensor;

std::string as_bytes(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4};
}

class GgufConfig : public testing::Test {
 protected:
  static Keys keys_of(const std::string& name) {
    Keys keys;
    keys.text("general.architecture", name);
    for (const auto& [key, value] : {std::pair{"context_length", 8192},
                                     {"embedding_length", 64},
                                     {"block_count", 2},
                                     {"feed_forward_length", 96},
                                     {"attention.head_count", 4}})
      keys.whole(name + "." + key, value);
    keys.number(name + ".attention.layer_norm_rms_epsilon", 1e-6);
    return keys;
  }
  json config(const Keys& keys, std::vector<TestTensor> more = {}) const {
    more.push_back({"token_embd.weight", {10, 64}});
    const std::string path = folder_.path() + "/a.gguf";
    base::write_file_atomic(path, testing_support::file_bytes(keys, more));
    return json::parse(gguf::read_file(path + "/config.json"));
  }
  std::string refusal(const Keys& keys, const std::vector<TestTensor>& more) const {
    try {
      config(keys, more);
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }
  const base::TemporaryFolder folder_;
};

TEST_F(GgufConfig, StatesWhatTheKeysState) {
  Keys keys = keys_of("llama");
  keys.whole("llama.attention.head_count_kv", 2);
  keys.number("llama.rope.freq_base", 100000);
  keys.whole("tokenizer.ggml.bos_token_id", 1);
  keys.whole("tokenizer.ggml.eos_token_id", 2);
  keys.whole("tokenizer.ggml.eot_token_id", 7);
  const json c = config(keys);
  EXPECT_EQ(c["model_type"], "llama");
  EXPECT_EQ(c["architectures"], json::array({"LlamaForCausalLM"}));
  EXPECT_EQ(c["num_key_value_heads"], 2);
  EXPECT_EQ(c["head_dim"], 16);
  EXPECT_EQ(c["vocab_size"], 10);
  EXPECT_EQ(c["rms_norm_eps"], 1e-6);
  EXPECT_EQ(c["rope_theta"], 100000);
  EXPECT_EQ(c["tie_word_embeddings"], true);
  EXPECT_EQ(c["bos_token_id"], 1);
  EXPECT_EQ(c["eos_token_id"], json::array({2, 7}));
  EXPECT_EQ(c["rope_scaling"], nullptr);
}

TEST_F(GgufConfig, TiesTheHeadUnlessItDiffers) {
  const std::string some = as_bytes(std::vector<float>(640, 0.5F));
  EXPECT_EQ(config(keys_of("qwen2"), {{"output.weight", {10, 64}, "F32", some}})["tie_word_embeddings"], false);
  EXPECT_EQ(config(keys_of("qwen2"), {{"output.weight", {10, 64}}})["tie_word_embeddings"], true) << "the same zeros";
  EXPECT_EQ(config(keys_of("qwen2"), {{"output.weight", {10, 64}, "Q8_0"}})["tie_word_embeddings"], false);
}

TEST_F(GgufConfig, FindsTheScalingOfLlama3InItsFactorsAndBack) {
  const json wanted{{"rope_type", "llama3"},
                    {"factor", 32.0},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", 8192}};
  Keys keys = keys_of("llama");
  keys.number("llama.rope.freq_base", 500000);
  keys.whole("llama.attention.key_length", 64);
  const std::vector<float> factors =
      rotary_factors(json{{"rope_scaling", wanted}, {"rope_theta", 500000.0}, {"head_dim", 64}}.dump());
  ASSERT_EQ(factors.size(), 32);
  EXPECT_EQ(factors.front(), 1);
  EXPECT_EQ(factors.back(), 32);
  EXPECT_EQ(config(keys, {{"rope_freqs.weight", {32}, "F32", as_bytes(factors)}})["rope_scaling"], wanted);
  EXPECT_EQ(config(keys, {{"rope_freqs.weight", {32}, "F32", as_bytes(std::vector<float>(32, 1.0F))}})["rope_scaling"],
            nullptr);
  std::vector<float> other = factors;
  other[20] *= 1.5F;
  EXPECT_THAT(refusal(keys, {{"rope_freqs.weight", {32}, "F32", as_bytes(other)}}),
              HasSubstr("are not those of Llama 3"));
}

TEST_F(GgufConfig, OfGemma3NamesItsWindows) {
  Keys keys = keys_of("gemma3");
  keys.whole("gemma3.attention.key_length", 32);
  keys.whole("gemma3.attention.sliding_window", 512);
  keys.whole("gemma3.attention.sliding_window_pattern", 2);
  const json c = config(keys);
  EXPECT_EQ(c["model_type"], "gemma3_text");
  EXPECT_EQ(c["layer_types"], json::array({"sliding_attention", "full_attention"}));
  EXPECT_EQ(c["query_pre_attn_scalar"], 32);
  EXPECT_EQ(c["rope_local_base_freq"], 10000);
  EXPECT_EQ(c["sliding_window"], 512);
}

TEST_F(GgufConfig, ComesBackFromTheKeysThatItGives) {
  Keys keys = keys_of("qwen3");
  keys.whole("qwen3.attention.head_count_kv", 2);
  keys.whole("qwen3.attention.key_length", 32);
  keys.text("qwen3.rope.scaling.type", "linear");
  keys.number("qwen3.rope.scaling.factor", 2.5);
  const json first = config(keys);
  Keys again;
  again.text("general.architecture", "qwen3");
  add_config_keys(first.dump(), *architecture_of_model_type("qwen3"), &again);
  EXPECT_EQ(config(again), first);
}

TEST_F(GgufConfig, OfGemma3ComesBackWithItsLayers) {
  Keys keys = keys_of("gemma3");
  keys.whole("gemma3.attention.key_length", 32);
  keys.whole("gemma3.attention.sliding_window", 512);
  keys.whole("gemma3.attention.sliding_window_pattern", 2);
  const json first = config(keys);
  Keys again;
  again.text("general.architecture", "gemma3");
  add_config_keys(first.dump(), *architecture_of_model_type("gemma3_text"), &again);
  EXPECT_EQ(config(again), first);
}

TEST_F(GgufConfig, RefusesToWriteWhatNoKeyStates) {
  const auto why_not = [&](const std::string& model_type, const Keys& from, const json& changes) {
    json changed = config(from);
    changed.update(changes);
    Keys keys;
    try {
      add_config_keys(changed.dump(), *architecture_of_model_type(model_type), &keys);
    } catch (const base::DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Keys gemma = keys_of("gemma3");
  gemma.whole("gemma3.attention.sliding_window", 512);
  EXPECT_THAT(why_not("gemma3_text", gemma, {{"layer_types", {"full_attention", "sliding_attention"}}}), HasSubstr("not one in so many"));
  EXPECT_THAT(why_not("gemma3_text", gemma, {{"query_pre_attn_scalar", 17}}), HasSubstr("no key states query_pre_attn_scalar"));
  EXPECT_THAT(why_not("mistral", keys_of("llama"), {{"sliding_window", 4096}}), HasSubstr("state no window of attention, and sliding_window is 4096"));
  EXPECT_THAT(why_not("smollm3", keys_of("smollm3"), {{"no_rope_layers", {0, 1}}}), HasSubstr("readers take every fourth"));
  const json yarn{{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 8.0}};
  EXPECT_THAT(why_not("qwen2", keys_of("qwen2"), {{"rope_scaling", yarn}}), HasSubstr("of yarn the keys state"));
  EXPECT_EQ(why_not("qwen2", keys_of("qwen2"), {{"sliding_window", nullptr}}), "");
}

TEST_F(GgufConfig, WithoutAKeyThatEveryModelHasIsRefused) {
  Keys keys;
  keys.text("general.architecture", "llama");
  EXPECT_THAT(refusal(keys, {}), HasSubstr("does not state llama.context_length"));
  EXPECT_THAT(refusal(keys_of("llama"), {{"token_embd.weight", {10, 64}}}), HasSubstr("twice"));
}

}  // namespace
}  // namespace troika::gguf
