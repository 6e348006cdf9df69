#include "config/huggingface/hugging_face_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/checks.h"
#include "config/huggingface/json_keys.h"
#include "config/huggingface/layer_keys.h"
#include "config/huggingface/rope_keys.h"
#include "config/presets.h"

namespace troika::config {
namespace {

using nlohmann::json;
using Problems = std::vector<base::Text>;

// The values that transformers uses for keys that a config.json does not state.
struct Defaults {
  std::int64_t vocab, hidden, ffn, layers, heads, kv_heads, head_dim, max_positions;  // kv_heads, head_dim 0: heads; hidden / heads
  double rope_theta = 1e4;
  bool tied = false;
};

Defaults defaults_of(Family family) {
  switch (family) {
    case Family::qwen3:
      return {151936, 4096, 22016, 32, 32, 32, 128, 32768};
    case Family::qwen2:
      return {151936, 4096, 22016, 32, 32, 32, 0, 32768};
    case Family::llama:
      return {32000, 4096, 11008, 32, 32, 0, 0, 2048};
    case Family::mistral:
      return {32000, 4096, 14336, 32, 32, 8, 0, 131072};
    case Family::smollm3:
      return {128256, 2048, 11008, 36, 16, 4, 0, 32768, 2e6, true};
    case Family::granite:
      return {32000, 4096, 11008, 32, 32, 0, 0, 2048};
    case Family::gemma3_text:
      return {262208, 2304, 9216, 26, 8, 4, 256, 131072, 1e6, true};
    case Family::gpt2:
      break;
  }
  throw base::BugError("a model family without defaults");
}

ModelSettings read_llama_family(Family family, JsonKeys& keys, Problems* problems) {
  const Defaults defaults = defaults_of(family);
  ModelSettings m;
  m.architecture = family;
  m.vocab = keys.whole("vocab_size", field_of("model.vocab"), defaults.vocab);
  m.hidden = keys.whole("hidden_size", field_of("model.hidden"), defaults.hidden);
  m.ffn = keys.whole("intermediate_size", field_of("model.ffn"), defaults.ffn);
  m.layers = keys.whole("num_hidden_layers", field_of("model.layers"), defaults.layers);
  m.heads = keys.whole("num_attention_heads", field_of("model.heads"), defaults.heads);
  // Stated as null it means as many as heads.
  const bool grouped = defaults.kv_heads > 0 && !keys.states("num_key_value_heads");
  m.kv_heads = keys.whole("num_key_value_heads", field_of("model.kv_heads"), grouped ? defaults.kv_heads : m.heads);
  const bool derived = keys.find("head_dim") == nullptr && defaults.head_dim == 0;
  if (derived && m.hidden % m.heads != 0) keys.fail("head_dim", base::say("hidden_size {} is not a multiple of num_attention_heads {}", m.hidden, m.heads));
  m.head_dim = keys.whole("head_dim", field_of("model.head_dim"),
                          derived ? std::max<std::int64_t>(1, m.hidden / m.heads) : defaults.head_dim);
  m.max_positions = keys.whole("max_position_embeddings", field_of("model.max_positions"), defaults.max_positions);
  m.norm_eps = keys.number("rms_norm_eps", field_of("model.norm_eps"), 1e-6);
  m.tie_embeddings = keys.truth("tie_word_embeddings", defaults.tied);
  read_rope(defaults.rope_theta, keys, problems, &m);
  read_layer_kinds(keys, &m);
  return m;
}

ModelSettings read_gpt2(JsonKeys& keys) {
  ModelSettings m;
  m.vocab = keys.whole("vocab_size", field_of("model.vocab"), 50257);
  m.hidden = keys.whole("n_embd", field_of("model.hidden"), 768);
  m.ffn = keys.whole("n_inner", field_of("model.ffn"), 4 * m.hidden);
  m.layers = keys.whole("n_layer", field_of("model.layers"), 12);
  m.heads = m.kv_heads = keys.whole("n_head", field_of("model.heads"), 12);
  if (m.hidden % m.heads != 0) keys.fail("n_head", base::say("it must divide n_embd {}", m.hidden));
  m.head_dim = std::max<std::int64_t>(1, m.hidden / m.heads);
  m.max_positions = keys.whole("n_positions", field_of("model.max_positions"), 1024);
  m.norm_eps = keys.number("layer_norm_epsilon", field_of("model.norm_eps"), 1e-5);
  m.tie_embeddings = keys.truth("tie_word_embeddings", true);
  return m;
}

// Checks the model as settings.
Problems broken_rules(const ModelSettings& m) {
  Settings settings;
  settings.model = m;
  Findings findings;
  for (const Field& field : fields()) {
    const auto wrong = violation(field, settings);
    if (field.section == "model" && wrong)
      findings.errors.push_back(base::say("{} {}", field.key(), *wrong));
  }
  if (findings.errors.empty()) check_shape(m, &findings);
  return findings.errors;
}

using nlohmann::json;

struct Rule {
  const char* key;
  json accepted;                // besides absence and null
  std::vector<Family> read_by = {};  // families whose reader takes any value
};

// Keys that other models of these families, or tools that change models, are known to set, and that change what is
// computed.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"add_cross_attention", {false}},
      {"attention_chunk_size", json::array()},
      {"attention_multiplier", json::array(), {Family::granite}},
      {"attn_logit_softcapping", {0}},
      {"compression_config", json::array()},
      {"dual_chunk_attention_config", json::array()},
      {"embedding_multiplier", {1}, {Family::granite}},
      {"final_logit_softcapping", {0}},
      {"is_causal", {true}},
      {"is_encoder_decoder", {false}},
      {"logit_scale", {1}},
      {"logits_scaling", {1}, {Family::granite}},
      {"mlp_bias", {false}},
      {"moe_intermediate_size", {0}},
      {"n_routed_experts", {0}},
      {"no_rope_layer_interval", json::array(), {Family::smollm3}},
      {"no_rope_layers", json::array(), {Family::smollm3}},
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
      {"query_pre_attn_scalar", json::array(), {Family::gemma3_text}},
      {"residual_multiplier", {1}, {Family::granite}},
      {"rope_interleaved", {false}},
      {"use_bidirectional_attention", {false}},
      {"use_mrope", {false}},
      {"use_qk_norm", {false}},
      {"use_sliding_window", {false}, {Family::qwen2, Family::qwen3, Family::smollm3}},
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
    keys.fail("auto_map", base::say("the model uses custom code, which is not executed here"));
}

void check_activation(const ModelSettings& m, JsonKeys& keys) {
  if (m.architecture == Family::gpt2) {
    keys.allow("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  } else if (m.architecture == Family::gemma3_text) {
    keys.allow("hidden_activation", {"gelu_pytorch_tanh"});
  } else {
    keys.allow("hidden_act", {"silu", "swish"});
  }
}

void check_attention(const ModelSettings& m, JsonKeys& keys) {
  if (m.architecture == Family::gpt2) {
    keys.allow("scale_attn_weights", {true});
    keys.allow("scale_attn_by_inverse_layer_idx", {false});
    keys.allow("reorder_and_upcast_attn", {false});
  }
  if (m.architecture != Family::qwen2) keys.allow("attention_bias", {false});  // of Qwen2 it always has one
}

// A problem for each key by which a model computes something else than its family does here. `m` is what was read of
// `keys` so far.
void refuse_unsupported(const ModelSettings& m, JsonKeys& keys) {
  check_class(m.architecture, keys);
  check_activation(m, keys);
  check_attention(m, keys);
  for (const Rule& rule : rules())
    if (std::count(rule.read_by.begin(), rule.read_by.end(), m.architecture) == 0) keys.allow(rule.key, rule.accepted);
}

void throw_if_any(const Problems& problems, const std::string& origin) {
  if (problems.empty()) return;
  throw base::DataError(base::say("{} describes a model that is not supported:\n  {}", origin, base::join(problems, "\n  ", "\n  ")));
}

}  // namespace

std::string_view hugging_face_class(Family family) {
  switch (family) {
    case Family::qwen3:
      return "Qwen3ForCausalLM";
    case Family::qwen2:
      return "Qwen2ForCausalLM";
    case Family::llama:
      return "LlamaForCausalLM";
    case Family::mistral:
      return "MistralForCausalLM";
    case Family::gpt2:
      return "GPT2LMHeadModel";
    case Family::gemma3_text:
      return "Gemma3ForCausalLM";
    case Family::smollm3:
      return "SmolLM3ForCausalLM";
    case Family::granite:
      return "GraniteForCausalLM";
  }
  throw base::BugError("a model family without a class");
}

// Of a model that reads more than text, what it says of its text part.
static const json& text_part(const json& whole) {
  const auto model_type = whole.find("model_type"), part = whole.find("text_config");
  const bool has_one = model_type != whole.end() && *model_type == "gemma3" && part != whole.end() && part->is_object();
  return has_one ? *part : whole;
}

ModelSettings parse_hugging_face_config(std::string_view text, const std::string& origin) {
  const json whole = base::parse_json(text, origin);
  if (!whole.is_object()) throw base::DataError(base::say("{} is not a JSON object", origin));
  const json& root = text_part(whole);
  Problems problems;
  JsonKeys keys(root, "", &problems);
  const std::optional<Family> family = parse_word<Family>(keys.word("model_type", ""));
  if (!family) {
    keys.fail("model_type", base::say("the supported families are {}", fmt::format("{}", fmt::join(words_of(Family{}), ", "))));
    throw_if_any(problems, origin);
  }
  ModelSettings m = family == Family::gpt2 ? read_gpt2(keys) : read_llama_family(*family, keys, &problems);
  m.preset = no_preset;
  m.architecture = *family;
  m.init_std = keys.number("initializer_range", field_of("model.init_std"), 0.02);
  refuse_unsupported(m, keys);
  throw_if_any(problems, origin);
  throw_if_any(broken_rules(m), origin);
  return m;
}

std::vector<base::Text> notes_on_config(std::string_view text, const std::string& origin) {
  const json root = base::parse_json(text, origin);
  std::vector<base::Text> notes;
  if (!root.is_object() || !root.contains("rope_theta") || !root["rope_theta"].is_number()) return notes;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto nested = root.find(key);
    if (nested == root.end() || !nested->is_object() || !nested->contains("rope_theta")) continue;
    const json& theta = (*nested)["rope_theta"];
    if (theta.is_number() && theta.get<double>() != root["rope_theta"].get<double>())
      notes.push_back(base::say("rope_theta is {0} at the top level of {1} and {2} in its {3}; the latter is used, as in transformers", shown(root["rope_theta"]), origin, shown(theta), key));
  }
  return notes;
}

}  // namespace troika::config
