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
#include "config/presets.h"

namespace troika::config {
namespace {

using nlohmann::json;
using Problems = std::vector<base::Text>;

// The values that transformers uses for keys that a config.json does not state.
struct Defaults {
  std::int64_t vocab, hidden, ffn, kv_heads, head_dim, max_positions;  // 0: heads; hidden / heads
};

Defaults defaults_of(Family family) {
  if (family == Family::qwen3) return {151936, 4096, 22016, 32, 128, 32768};
  if (family == Family::qwen2) return {151936, 4096, 22016, 32, 0, 32768};
  if (family == Family::llama) return {32000, 4096, 11008, 0, 0, 2048};
  return {32000, 4096, 14336, 8, 0, 131072};  // mistral
}

void read_llama3(JsonKeys& rope, ModelSettings* m) {
  for (const char* key : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (rope.find(key) == nullptr) rope.fail(key, base::say("llama3 needs it"));
  }
  m->rope_low_freq_factor = rope.number("low_freq_factor", field_of("model.rope_low_freq_factor"), 1);
  m->rope_high_freq_factor = rope.number("high_freq_factor", field_of("model.rope_high_freq_factor"), 4);
  m->rope_original_positions =
      rope.whole("original_max_position_embeddings", field_of("model.rope_original_positions"), 8192);
}

void read_scaling(JsonKeys& rope, ModelSettings* m) {
  rope.allow("partial_rotary_factor", {1});
  const std::string type = rope.word(rope.find("rope_type") != nullptr ? "rope_type" : "type", "default");
  if (type == "default") return;
  m->rope_scaling = word_or(type, RopeScaling::none);
  if (m->rope_scaling == RopeScaling::none) {
    return rope.fail(rope.find("rope_type") != nullptr ? "rope_type" : "type", base::say("only default, linear and llama3 are supported"));
  }
  if (rope.find("factor") == nullptr) rope.fail("factor", base::say("{} needs it", type));
  m->rope_factor = rope.number("factor", field_of("model.rope_factor"), m->rope_factor);
  if (m->rope_scaling == RopeScaling::llama3) read_llama3(rope, m);
}

// rope_theta and rope_scaling, or both in rope_parameters.
void read_rope(JsonKeys& keys, Problems* problems, ModelSettings* m) {
  const Field& theta = field_of("model.rope_theta");
  m->rope_theta = keys.number("rope_theta", theta, 10000);
  if (keys.find("rope_scaling") != nullptr && keys.find("rope_parameters") != nullptr)
    return keys.fail("rope_parameters", base::say("rope_scaling is given as well; one of them is needed"));
  const std::string key = keys.find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const json* object = keys.find(key);
  if (object == nullptr) return;
  const auto nested = [](const json& value) { return value.is_structured(); };
  if (!object->is_object() || std::any_of(object->begin(), object->end(), nested))
    return keys.fail(key, base::say("an object of numbers and strings is needed"));
  JsonKeys rope(*object, key + ".", problems);
  m->rope_theta = rope.number("rope_theta", theta, m->rope_theta);
  read_scaling(rope, m);
}

ModelSettings read_llama_family(Family family, const json& root, JsonKeys& keys, Problems* problems) {
  const Defaults defaults = defaults_of(family);
  ModelSettings m;
  m.vocab = keys.whole("vocab_size", field_of("model.vocab"), defaults.vocab);
  m.hidden = keys.whole("hidden_size", field_of("model.hidden"), defaults.hidden);
  m.ffn = keys.whole("intermediate_size", field_of("model.ffn"), defaults.ffn);
  m.layers = keys.whole("num_hidden_layers", field_of("model.layers"), 32);
  m.heads = keys.whole("num_attention_heads", field_of("model.heads"), 32);
  // Stated as null it means as many as heads.
  const bool grouped = defaults.kv_heads > 0 && !root.contains("num_key_value_heads");
  m.kv_heads = keys.whole("num_key_value_heads", field_of("model.kv_heads"), grouped ? defaults.kv_heads : m.heads);
  const bool derived = keys.find("head_dim") == nullptr && defaults.head_dim == 0;
  if (derived && m.hidden % m.heads != 0) keys.fail("head_dim", base::say("hidden_size {} is not a multiple of num_attention_heads {}", m.hidden, m.heads));
  m.head_dim = keys.whole("head_dim", field_of("model.head_dim"),
                          derived ? std::max<std::int64_t>(1, m.hidden / m.heads) : defaults.head_dim);
  m.max_positions = keys.whole("max_position_embeddings", field_of("model.max_positions"), defaults.max_positions);
  m.norm_eps = keys.number("rms_norm_eps", field_of("model.norm_eps"), 1e-6);
  m.tie_embeddings = keys.truth("tie_word_embeddings", false);
  read_rope(keys, problems, &m);
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
    keys.fail("auto_map", base::say("the model uses custom code, which is not executed here"));
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
            base::say("{}attention over a window is not supported, and max_position_embeddings is {}; set it to the window when no sequence is longer", stated ? base::Text{} : base::say("the default is 4096; "), max_positions));
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

// A problem for each key by which a model computes something else than its family does here. `root` is the object of `keys`, `m` what was
// read of it so far.
void refuse_unsupported(const json& root, const ModelSettings& m, JsonKeys& keys) {
  check_class(m.architecture, keys);
  check_activation(m, keys);
  check_attention(root, m, keys);
  for (const Rule& rule : rules()) keys.allow(rule.key, rule.accepted);
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
  }
  throw base::BugError("a model family without a class");
}

ModelSettings parse_hugging_face_config(std::string_view text, const std::string& origin) {
  const json root = base::parse_json(text, origin);
  if (!root.is_object()) throw base::DataError(base::say("{} is not a JSON object", origin));
  Problems problems;
  JsonKeys keys(root, "", &problems);
  const std::optional<Family> family = parse_word<Family>(keys.word("model_type", ""));
  if (!family) {
    keys.fail("model_type", base::say("the supported families are {}", fmt::format("{}", fmt::join(words_of(Family{}), ", "))));
    throw_if_any(problems, origin);
  }
  ModelSettings m = family == Family::gpt2 ? read_gpt2(keys) : read_llama_family(*family, root, keys, &problems);
  m.preset = no_preset;
  m.architecture = *family;
  m.init_std = keys.number("initializer_range", field_of("model.init_std"), 0.02);
  refuse_unsupported(root, m, keys);
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
