#include "config/huggingface/hugging_face_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

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

void read_llama3(JsonKeys& rope, ModelSettings* m) {
  for (const char* key : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (rope.find(key) == nullptr) rope.fail(key, base::say("llama3 needs it"));
  }
  m->rope_low_freq_factor = rope.number("low_freq_factor", field_of("model.rope_low_freq_factor"), 1);
  m->rope_high_freq_factor = rope.number("high_freq_factor", field_of("model.rope_high_freq_factor"), 4);
  m->rope_original_positions =
      rope.whole("original_max_position_embeddings", field_of("model.rope_original_positions"), 8192);
}

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

void read_yarn(JsonKeys& rope, ModelSettings* m) {
  rope.allow("truncate", {true});
  m->rope_original_positions =
      rope.whole("original_max_position_embeddings", field_of("model.rope_original_positions"), m->max_positions);
  m->rope_beta_fast = rope.number("beta_fast", field_of("model.rope_beta_fast"), 32);
  m->rope_beta_slow = rope.number("beta_slow", field_of("model.rope_beta_slow"), 1);
  m->rope_attention_factor = rope.number("attention_factor", field_of("model.rope_attention_factor"), 0);
  const double scale = rope.number("mscale", field_of("model.rope_attention_factor"), 0),
               all = rope.number("mscale_all_dim", field_of("model.rope_attention_factor"), 0);
  if (m->rope_attention_factor == 0 && scale > 0 && all > 0)
    m->rope_attention_factor = yarn_magnitude(m->rope_factor, scale) / yarn_magnitude(m->rope_factor, all);
}

void read_scaling(JsonKeys& rope, ModelSettings* m) {
  rope.allow("partial_rotary_factor", {1});
  const std::string key = rope.find("rope_type") != nullptr ? "rope_type" : "type", type = rope.word(key, "default");
  if (type == "default") return;
  m->rope_scaling = word_or(type, RopeScaling::none);
  if (m->rope_scaling == RopeScaling::none) return rope.fail(key, base::say("only default, linear, llama3, yarn and dynamic are supported"));
  if (rope.find("factor") == nullptr) rope.fail("factor", base::say("{} needs it", type));
  m->rope_factor = rope.number("factor", field_of("model.rope_factor"), m->rope_factor);
  if (m->rope_scaling == RopeScaling::llama3) read_llama3(rope, m);
  if (m->rope_scaling == RopeScaling::yarn) read_yarn(rope, m);
}

bool is_flat(const json& object) {
  return object.is_object() && std::none_of(object.begin(), object.end(), [](const json& value) { return value.is_structured(); });
}

void read_rope_object(const json& object, const std::string& key, Problems* problems, ModelSettings* m) {
  JsonKeys rope(object, key + ".", problems);
  m->rope_theta = rope.number("rope_theta", field_of("model.rope_theta"), m->rope_theta);
  read_scaling(rope, m);
}

// rope_parameters by layer type: Gemma's layers with a window have a table of their own, which is not scaled.
void read_rope_by_type(const json& object, JsonKeys& keys, Problems* problems, ModelSettings* m) {
  for (const char* type : {"full_attention", "sliding_attention"})
    if (!object.contains(type) || !is_flat(object[type])) return keys.fail("rope_parameters", base::say("an object of numbers and strings is needed for {}", type));
  read_rope_object(object["full_attention"], "rope_parameters.full_attention", problems, m);
  JsonKeys local(object["sliding_attention"], "rope_parameters.sliding_attention.", problems);
  local.allow("rope_type", {"default"});
  m->rope_local_theta = local.number("rope_theta", field_of("model.rope_theta"), 1e4);
}

// rope_theta and rope_scaling, or both in rope_parameters.
void read_rope(const Defaults& defaults, JsonKeys& keys, Problems* problems, ModelSettings* m) {
  const bool by_type = m->architecture == Family::gemma3_text;
  m->rope_theta = keys.number("rope_theta", field_of("model.rope_theta"), defaults.rope_theta);
  if (by_type) m->rope_local_theta = keys.number("rope_local_base_freq", field_of("model.rope_theta"), 1e4);
  if (keys.find("rope_scaling") != nullptr && keys.find("rope_parameters") != nullptr)
    return keys.fail("rope_parameters", base::say("rope_scaling is given as well; one of them is needed"));
  const std::string key = keys.find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  const json* object = keys.find(key);
  if (object == nullptr) return;
  if (by_type && object->is_object() && object->contains("full_attention")) return read_rope_by_type(*object, keys, problems, m);
  if (!is_flat(*object)) return keys.fail(key, base::say("an object of numbers and strings is needed"));
  read_rope_object(*object, key, problems, m);
}

// The shortest text of which `letters` are repetitions.
std::string shortest_period(const std::string& letters) {
  for (std::size_t period = 1; period < letters.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; repeats && i < letters.size(); ++i) repeats = letters[i] == letters[i - period];
    if (repeats) return letters.substr(0, period);
  }
  return letters;
}

// A letter for each layer (ModelSettings::layer_types), of layer_types where it is given, else of `otherwise`.
std::string letters_of(const ModelSettings& m, JsonKeys& keys, const std::function<LayerType(std::int64_t layer)>& otherwise) {
  std::string letters;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) letters += static_cast<char>(otherwise(layer));
  const json* types = keys.find("layer_types");
  if (types == nullptr) return letters;
  if (!types->is_array() || static_cast<std::int64_t>(types->size()) < m.layers) {
    keys.fail("layer_types", base::say("a list of {} types is needed, one for each layer", m.layers));
    return letters;
  }
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const json& type = (*types)[static_cast<std::size_t>(layer)];
    char& letter = letters[static_cast<std::size_t>(layer)];
    if (type == "full_attention") {
      letter = static_cast<char>(LayerType::full);
    } else if (type == "sliding_attention") {
      letter = static_cast<char>(LayerType::window);
    } else {
      keys.fail("layer_types", base::say("layer {} has {}, and only \"full_attention\" and \"sliding_attention\" are supported", layer, shown(type)));
      return letters;
    }
  }
  return letters;
}

bool has(const std::string& letters, LayerType type) { return letters.find(static_cast<char>(type)) != std::string::npos; }

void set_layer_types(const std::string& letters, std::int64_t window, JsonKeys& keys, ModelSettings* m) {
  if (!has(letters, LayerType::window)) window = 0;
  else if (window == 0) return keys.fail("layer_types", base::say("it has layers with a window, and sliding_window is absent"));
  m->sliding_window = window;
  m->layer_types = shortest_period(letters);
  if (m->layer_types == (window > 0 ? "w" : "f")) m->layer_types.clear();
}

// 0: none.
std::int64_t window_of(JsonKeys& keys, std::int64_t fallback) {
  const json* stated = keys.find("sliding_window");
  if (stated != nullptr && stated->is_number_integer() && *stated <= 0) return 0;
  return keys.whole("sliding_window", field_of("model.sliding_window"), fallback);
}

// Mistral's attention sees the last 4096 positions unless config.json says otherwise.
void read_mistral_window(const json& root, JsonKeys& keys, ModelSettings* m) {
  std::int64_t window = window_of(keys, root.contains("sliding_window") ? 0 : 4096);
  if (window >= m->max_positions) window = 0;
  set_layer_types(letters_of(*m, keys, [&](std::int64_t) { return window > 0 ? LayerType::window : LayerType::full; }), window, keys, m);
}

void read_qwen_window(JsonKeys& keys, ModelSettings* m) {
  const std::int64_t window = keys.truth("use_sliding_window", false) ? window_of(keys, 4096) : 0;
  const std::int64_t first = keys.find("max_window_layers") == nullptr ? 28 : keys.whole("max_window_layers", field_of("model.layers"), 28);
  set_layer_types(letters_of(*m, keys, [&](std::int64_t layer) { return window > 0 && layer >= first ? LayerType::window : LayerType::full; }),
                  window, keys, m);
}

void read_smollm3_layers(JsonKeys& keys, ModelSettings* m) {
  const std::int64_t window = keys.truth("use_sliding_window", false) ? window_of(keys, 0) : 0;
  const std::int64_t interval = keys.whole("no_rope_layer_interval", field_of("model.layers"), 4);
  const json* stated = keys.find("no_rope_layers");
  if (stated != nullptr && (!stated->is_array() || static_cast<std::int64_t>(stated->size()) < m->layers))
    return keys.fail("no_rope_layers", base::say("a list of {} numbers is needed, one for each layer", m->layers));
  std::string letters = letters_of(*m, keys, [&](std::int64_t) { return window > 0 ? LayerType::window : LayerType::full; });
  for (std::int64_t layer = 0; layer < m->layers; ++layer) {
    const bool turns = stated == nullptr ? (layer + 1) % interval != 0 : (*stated)[static_cast<std::size_t>(layer)] != 0;
    char& letter = letters[static_cast<std::size_t>(layer)];
    if (turns) continue;
    if (letter == static_cast<char>(LayerType::window)) return keys.fail("no_rope_layers", base::say("layer {} has a window as well, which is not supported", layer));
    letter = static_cast<char>(LayerType::no_rotation);
  }
  set_layer_types(letters, window, keys, m);
}

void read_gemma_layers(JsonKeys& keys, ModelSettings* m) {
  const std::string key = keys.find("sliding_window_pattern") != nullptr ? "sliding_window_pattern" : "_sliding_window_pattern";
  const std::int64_t window = window_of(keys, 4096), pattern = keys.whole(key, field_of("model.layers"), 6);
  set_layer_types(letters_of(*m, keys, [&](std::int64_t layer) { return (layer + 1) % pattern != 0 ? LayerType::window : LayerType::full; }), window,
                  keys, m);
  const double scalar = keys.number("query_pre_attn_scalar", field_of("model.head_dim"), 256);
  if (scalar != static_cast<double>(m->head_dim)) m->attention_scale = 1 / std::sqrt(scalar);
}

void read_granite_scales(JsonKeys& keys, ModelSettings* m) {
  m->attention_scale = keys.number("attention_multiplier", field_of("model.attention_scale"), 1);
  if (m->attention_scale == 1 / std::sqrt(static_cast<double>(m->head_dim))) m->attention_scale = 0;
  m->embedding_scale = keys.number("embedding_multiplier", field_of("model.embedding_scale"), 1);
  m->residual_scale = keys.number("residual_multiplier", field_of("model.residual_scale"), 1);
  m->logits_divisor = keys.number("logits_scaling", field_of("model.logits_divisor"), 1);
}

void read_layers(const json& root, JsonKeys& keys, ModelSettings* m) {
  switch (m->architecture) {
    case Family::mistral:
      return read_mistral_window(root, keys, m);
    case Family::qwen2:
    case Family::qwen3:
      return read_qwen_window(keys, m);
    case Family::smollm3:
      return read_smollm3_layers(keys, m);
    case Family::gemma3_text:
      return read_gemma_layers(keys, m);
    case Family::granite:
      read_granite_scales(keys, m);
      [[fallthrough]];
    default:
      set_layer_types(letters_of(*m, keys, [](std::int64_t) { return LayerType::full; }), 0, keys, m);
  }
}

ModelSettings read_llama_family(Family family, const json& root, JsonKeys& keys, Problems* problems) {
  const Defaults defaults = defaults_of(family);
  ModelSettings m;
  m.architecture = family;
  m.vocab = keys.whole("vocab_size", field_of("model.vocab"), defaults.vocab);
  m.hidden = keys.whole("hidden_size", field_of("model.hidden"), defaults.hidden);
  m.ffn = keys.whole("intermediate_size", field_of("model.ffn"), defaults.ffn);
  m.layers = keys.whole("num_hidden_layers", field_of("model.layers"), defaults.layers);
  m.heads = keys.whole("num_attention_heads", field_of("model.heads"), defaults.heads);
  // Stated as null it means as many as heads.
  const bool grouped = defaults.kv_heads > 0 && !root.contains("num_key_value_heads");
  m.kv_heads = keys.whole("num_key_value_heads", field_of("model.kv_heads"), grouped ? defaults.kv_heads : m.heads);
  const bool derived = keys.find("head_dim") == nullptr && defaults.head_dim == 0;
  if (derived && m.hidden % m.heads != 0) keys.fail("head_dim", base::say("hidden_size {} is not a multiple of num_attention_heads {}", m.hidden, m.heads));
  m.head_dim = keys.whole("head_dim", field_of("model.head_dim"),
                          derived ? std::max<std::int64_t>(1, m.hidden / m.heads) : defaults.head_dim);
  m.max_positions = keys.whole("max_position_embeddings", field_of("model.max_positions"), defaults.max_positions);
  m.norm_eps = keys.number("rms_norm_eps", field_of("model.norm_eps"), 1e-6);
  m.tie_embeddings = keys.truth("tie_word_embeddings", defaults.tied);
  read_rope(defaults, keys, problems, &m);
  read_layers(root, keys, &m);
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
  ModelSettings m = family == Family::gpt2 ? read_gpt2(keys) : read_llama_family(*family, root, keys, &problems);
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
