#include "config/model_layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "config/huggingface/model_folder.h"
#include "config/presets.h"

namespace troika::config {

Choice chosen(const std::vector<Layer>& layers, std::string_view key) {
  for (std::size_t i = layers.size(); i-- > 0;) {
    const auto& list = layers[i].assignments;
    const auto found =
        std::find_if(list.rbegin(), list.rend(), [&](const Assignment& a) { return a.field->key() == key; });
    if (found != list.rend()) return {i, &*found};
  }
  return {};
}

void lay_preset(const std::vector<Layer>& layers, MergedSettings* merged) {
  const auto [level, preset] = chosen(layers, "model.preset");
  if (preset == nullptr) return;
  set_text(*preset->field, preset->value, &merged->settings);  // "tiny" becomes "qwen3-tiny"
  if (merged->settings.model.preset == no_preset) return;
  try {
    merged->settings.model = find_preset(merged->settings.model.preset);
  } catch (const base::ConfigError& error) {
    merged->errors.push_back(base::say("{}: {}", preset->origin, base::text_of(error)));
    return;
  }
  std::vector<base::Text> standing;
  for (std::size_t i = 0; i < level; ++i) {
    for (const auto& a : layers[i].assignments) {
      if (a.field->section == "model" && a.field->key() != "model.preset" &&
          get_text(*a.field, merged->settings) != a.value) {
        standing.push_back(base::say("{} {} ({})", a.field->key(), a.value, a.origin));
      }
    }
  }
  if (!standing.empty()) {
    merged->notes.push_back(
        base::say("preset {} lies below single model settings, so these are kept: {}", merged->settings.model.preset, base::join(standing, ", ", "、")));
  }
}

// What may differ from it: neither shapes nor formulas.
static bool is_free(const Field& field, const ModelSettings& model) {
  const std::string key = field.key();
  const bool longer = key == "model.max_positions" && model.architecture != Family::gpt2;  // gpt2 has a vector for each
  return longer || key == "model.path" || key == "model.base" || key == "model.preset" || key == "model.init_std" ||
         key == "model.middle_layers";
}

void check_against(const PathModel& model, const std::vector<Layer>& layers, MergedSettings* merged) {
  for (const Field& field : fields()) {
    const auto [level, stated] = chosen(layers, field.key());
    if (field.section != "model" || stated == nullptr || is_free(field, model.settings.model)) continue;
    const std::string value = get_text(field, merged->settings), own = get_text(field, model.settings);
    const bool left_open = field.key() == "model.vocab" && value == "0";
    const bool first_layers =
        field.key() == "model.layers" && merged->settings.model.layers < model.settings.model.layers;
    if (value != own && !left_open && !first_layers) {
      merged->errors.push_back(base::say("{0} {1} ({2}) contradicts {3} in {4}; leave it out", field.key(), value, stated->origin, own, model.file));
    }
  }
  merged->settings.model.vocab = model.settings.model.vocab;
}

// One of them says what the model is: the higher layer.
static void choose_path(const std::vector<Layer>& layers, MergedSettings* merged) {
  const auto [level, path] = chosen(layers, "model.path");
  const auto [preset_level, preset] = chosen(layers, "model.preset");
  if (preset == nullptr || preset->value == no_preset) return;
  if (preset_level >= level) {
    merged->errors.push_back(
        base::say("model.preset {} ({}) and model.path {} ({}) both say what the model is; take one", preset->value, preset->origin, path->value, path->origin));
  } else {
    merged->notes.push_back(base::say("model.preset {} ({}) is replaced by model.path {} ({})", preset->value, preset->origin, path->value, path->origin));
  }
}

std::optional<PathModel> read_path_model(const std::vector<Layer>& layers, MergedSettings* merged) {
  const Assignment* path = chosen(layers, "model.path").assignment;
  const Assignment* stated_base = chosen(layers, "model.base").assignment;
  const std::string base = stated_base == nullptr ? "" : stated_base->value;
  if (path == nullptr || path->value.empty()) {
    if (!base.empty()) merged->errors.push_back(base::say("model.base {} ({}) is the base of an adapter; name the adapter with model.path, or leave model.base out", base, stated_base->origin));
    return std::nullopt;
  }
  choose_path(layers, merged);
  PathModel model;
  model.settings.model = read_hugging_face_config(path->value, base);
  model.file = model_folder_of(path->value, base) + "/config.json";
  if (chosen(layers, "data.tokenizer").assignment != nullptr) return model;
  const std::string tokenizer = tokenizer_of(path->value, base);
  if (!tokenizer.empty()) model.settings.data.tokenizer = tokenizer;
  return model;
}

}  // namespace troika::config
