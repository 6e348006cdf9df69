#include "config/model_config_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace troika::config {
namespace {

using nlohmann::json;

struct Rule {
  const char* key;
  json accepted;  // besides absence and null
};

// Members that other models of these families, or tools that change models, are known to set, and that change what is
// computed.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"add_cross_attention", {false}},
      {"attention_chunk_size", json::array()},
      {"attention_multiplier", json::array()},
      {"attn_logit_softcapping", {0}},
      {"compression_config", json::array()},
      {"dual_chunk_attention_config", json::array()},
      {"embedding_multiplier", {1}},
      {"final_logit_softcapping", {0}},
      {"is_causal", {true}},
      {"is_encoder_decoder", {false}},
      {"logit_scale", {1}},
      {"logits_scaling", {1}},
      {"mlp_bias", {false}},
      {"moe_intermediate_size", {0}},
      {"n_routed_experts", {0}},
      {"no_rope_layer_interval", json::array()},
      {"no_rope_layers", json::array()},
      {"num_experts", {0}},
      {"num_experts_per_tok", {0}},
      {"num_local_experts", {0}},
      {"num_nextn_predict_layers", {0}},
      {"partial_rotary_factor", {1}},
      {"pretraining_tp", {1}},
      {"pruned_heads", json::array({json::object()})},
      {"qk_layernorm", {false}},
      {"qk_norm", {false}},
      {"quantization_config", json::array()},
      {"query_pre_attn_scalar", json::array()},
      {"residual_multiplier", {1}},
      {"rope_interleaved", {false}},
      {"use_bidirectional_attention", {false}},
      {"use_mrope", {false}},
      {"use_qk_norm", {false}},
      {"use_sliding_window", {false}},
  };
  return all;
}

const char* class_of(const std::string& family) {
  if (family == "qwen3") return "Qwen3ForCausalLM";
  if (family == "qwen2") return "Qwen2ForCausalLM";
  if (family == "llama") return "LlamaForCausalLM";
  return family == "mistral" ? "MistralForCausalLM" : "GPT2LMHeadModel";
}

void check_class(const std::string& family, JsonMembers& members) {
  const json* classes = members.find("architectures");
  if (classes != nullptr && *classes != json::array() && *classes != json::array({class_of(family)}))
    members.fail("architectures", fmt::format("only [\"{}\"] is supported for {}", class_of(family), family));
  const json* code = members.find("auto_map");
  if (code != nullptr && code->is_object() && code->contains("AutoModelForCausalLM"))
    members.fail("auto_map", "the model computes with code of its own, which is not run here");
}

void check_layer_types(JsonMembers& members) {
  const json* types = members.find("layer_types");
  if (types == nullptr) return;
  const bool full = types->is_array() && std::all_of(types->begin(), types->end(),
                                                     [](const json& type) { return type == "full_attention"; });
  if (!full) members.fail("layer_types", "only \"full_attention\" is supported, for every layer");
}

// Mistral's attention sees the last 4096 positions unless config.json says otherwise.
void check_window(const json& root, std::int64_t max_positions, JsonMembers& members) {
  const bool stated = root.contains("sliding_window");
  const json window = stated ? root["sliding_window"] : json(4096);
  if (window.is_null() || (window.is_number() && window >= max_positions)) return;
  members.fail("sliding_window",
               fmt::format("{}attention over a window is not supported, and max_position_embeddings is {}; set it to "
                           "the window when no sequence is longer",
                           stated ? "" : "this means 4096; ", max_positions));
}

void check_activation(const ModelSettings& m, JsonMembers& members) {
  if (m.architecture == "gpt2") {
    members.allow("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  } else {
    members.allow("hidden_act", {"silu", "swish"});
  }
}

void check_attention(const json& root, const ModelSettings& m, JsonMembers& members) {
  if (m.architecture == "gpt2") {
    members.allow("scale_attn_weights", {true});
    members.allow("scale_attn_by_inverse_layer_idx", {false});
    members.allow("reorder_and_upcast_attn", {false});
  }
  if (m.architecture != "qwen2") members.allow("attention_bias", {false});  // of Qwen2 it always has one
  if (m.architecture == "mistral") check_window(root, m.max_positions, members);
  check_layer_types(members);
}

}  // namespace

void refuse_unsupported(const json& root, const ModelSettings& m, JsonMembers& members) {
  check_class(m.architecture, members);
  check_activation(m, members);
  check_attention(root, m, members);
  for (const Rule& rule : rules()) members.allow(rule.key, rule.accepted);
}

}  // namespace troika::config
