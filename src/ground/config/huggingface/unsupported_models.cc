#include "config/huggingface/unsupported_models.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "config/huggingface/hugging_face_config.h"

namespace troika::config {
namespace {

using nlohmann::json;

struct Rule {
  const char* key;
  json accepted;  // besides absence and null
};

// Keys that other models of these families, or tools that change models, are known to set, and that change what is
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

void check_class(Family family, JsonKeys& keys) {
  const std::string name(hugging_face_class(family));
  const json* classes = keys.find("architectures");
  if (classes != nullptr && *classes != json::array() && *classes != json::array({name}))
    keys.fail("architectures", base::say("only [\"{0}\"] is supported for {1}", name, word_of(family)));
  const json* code = keys.find("auto_map");
  if (code != nullptr && code->is_object() && code->contains("AutoModelForCausalLM"))
    keys.fail("auto_map", base::say("the model computes with code of its own, which is not run here"));
}

void check_layer_types(JsonKeys& keys) {
  const json* types = keys.find("layer_types");
  if (types == nullptr) return;
  const bool full = types->is_array() && std::all_of(types->begin(), types->end(),
                                                     [](const json& type) { return type == "full_attention"; });
  if (!full) keys.fail("layer_types", base::say("only \"full_attention\" is supported, for every layer"));
}

// Mistral's attention sees the last 4096 positions unless config.json says otherwise.
void check_window(const json& root, std::int64_t max_positions, JsonKeys& keys) {
  const bool stated = root.contains("sliding_window");
  const json window = stated ? root["sliding_window"] : json(4096);
  if (window.is_null() || (window.is_number() && window >= max_positions)) return;
  keys.fail("sliding_window",
            base::say("{}attention over a window is not supported, and max_position_embeddings is {}; set it to the window when no sequence is longer", stated ? base::Text{} : base::say("this means 4096; "), max_positions));
}

void check_activation(const ModelSettings& m, JsonKeys& keys) {
  if (m.architecture == Family::gpt2) {
    keys.allow("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  } else {
    keys.allow("hidden_act", {"silu", "swish"});
  }
}

void check_attention(const json& root, const ModelSettings& m, JsonKeys& keys) {
  if (m.architecture == Family::gpt2) {
    keys.allow("scale_attn_weights", {true});
    keys.allow("scale_attn_by_inverse_layer_idx", {false});
    keys.allow("reorder_and_upcast_attn", {false});
  }
  if (m.architecture != Family::qwen2) keys.allow("attention_bias", {false});  // of Qwen2 it always has one
  if (m.architecture == Family::mistral) check_window(root, m.max_positions, keys);
  check_layer_types(keys);
}

}  // namespace

void refuse_unsupported(const json& root, const ModelSettings& m, JsonKeys& keys) {
  check_class(m.architecture, keys);
  check_activation(m, keys);
  check_attention(root, m, keys);
  for (const Rule& rule : rules()) keys.allow(rule.key, rule.accepted);
}

}  // namespace troika::config
