#include "config/huggingface/layer_keys.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/say.h"

namespace troika::config {
namespace {

using nlohmann::json;

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
void read_mistral_window(JsonKeys& keys, ModelSettings* m) {
  std::int64_t window = window_of(keys, keys.states("sliding_window") ? 0 : 4096);
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

}  // namespace

void read_layer_kinds(JsonKeys& keys, ModelSettings* m) {
  switch (m->architecture) {
    case Family::mistral:
      return read_mistral_window(keys, m);
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

}  // namespace troika::config
