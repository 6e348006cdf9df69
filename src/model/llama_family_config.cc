#include <nlohmann/json.hpp>

#include "model/llama_family.h"

namespace troika::model {
namespace {

using Json = nlohmann::ordered_json;

const char* class_of(const std::string& architecture) {
  if (architecture == "qwen3") return "Qwen3ForCausalLM";
  if (architecture == "qwen2") return "Qwen2ForCausalLM";
  return architecture == "llama" ? "LlamaForCausalLM" : "MistralForCausalLM";
}

Json scaling_of(const config::ModelSettings& m) {
  if (m.rope_scaling == "none") return nullptr;
  Json j{{"factor", m.rope_factor}};
  if (m.rope_scaling == "llama3") {
    j["high_freq_factor"] = m.rope_high_freq_factor;
    j["low_freq_factor"] = m.rope_low_freq_factor;
    j["original_max_position_embeddings"] = m.rope_original_positions;
  }
  j["rope_type"] = m.rope_scaling;
  return j;
}

// What only some of the family's classes know; absent, they would take the published models' values.
void add_own_keys(const config::ModelSettings& m, Json& j) {
  const bool qwen = m.architecture == "qwen3" || m.architecture == "qwen2";
  if (m.architecture == "qwen3" || m.architecture == "llama") j["attention_bias"] = false;
  if (m.architecture == "llama") {
    j["mlp_bias"] = false;
    j["pretraining_tp"] = 1;
  } else {
    j["sliding_window"] = nullptr;
  }
  if (qwen) j["use_sliding_window"] = false;
}

}  // namespace

std::string llama_family_config(const config::ModelSettings& m) {
  Json j;
  j["architectures"] = {class_of(m.architecture)};
  j["model_type"] = m.architecture;
  j["attention_dropout"] = 0.0;
  j["bos_token_id"] = nullptr;  // the tokenizer's; what is left out would be the published model's
  j["eos_token_id"] = nullptr;
  j["hidden_act"] = "silu";
  j["hidden_size"] = m.hidden;
  j["initializer_range"] = m.init_std;
  j["intermediate_size"] = m.ffn;
  j["max_position_embeddings"] = m.max_positions;
  j["num_attention_heads"] = m.heads;
  j["num_hidden_layers"] = m.layers;
  j["num_key_value_heads"] = m.kv_heads;
  j["head_dim"] = m.head_dim;
  j["rms_norm_eps"] = m.norm_eps;
  j["rope_scaling"] = scaling_of(m);
  j["rope_theta"] = m.rope_theta;
  j["tie_word_embeddings"] = m.tie_embeddings;
  j["torch_dtype"] = "float32";
  j["use_cache"] = true;
  j["vocab_size"] = m.vocab;
  add_own_keys(m, j);
  return j.dump(2) + "\n";
}

}  // namespace troika::model
