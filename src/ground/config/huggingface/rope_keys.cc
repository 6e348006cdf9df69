#include "config/huggingface/rope_keys.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/say.h"

namespace troika::config {
namespace {

using nlohmann::json;
using Problems = std::vector<base::Text>;

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

}  // namespace

void read_rope(double default_theta, JsonKeys& keys, Problems* problems, ModelSettings* m) {
  const bool by_type = m->architecture == Family::gemma3_text;
  m->rope_theta = keys.number("rope_theta", field_of("model.rope_theta"), default_theta);
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

}  // namespace troika::config
