#include "config/huggingface/hugging_face_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/checks.h"
#include "config/huggingface/json_keys.h"
#include "config/huggingface/unsupported_models.h"
#include "config/presets.h"

namespace troika::config {
namespace {

using nlohmann::json;
using Problems = std::vector<base::Text>;

// What transformers takes for keys that a config.json does not state.
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
    return keys.fail(key, base::say("an object of numbers and words is needed"));
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
    keys.fail("model_type", base::say("the families are {}", fmt::format("{}", fmt::join(words_of(Family{}), ", "))));
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
      notes.push_back(base::say("rope_theta is {0} at the top of {1} and {2} in its {3}; the latter is taken, as by transformers", shown(root["rope_theta"]), origin, shown(theta), key));
  }
  return notes;
}

}  // namespace troika::config
