#include "config/model_layer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "gguf/model_files.h"
#include "config/huggingface/peft_config.h"
#include "config/lora.h"
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
        base::say("individual model settings override preset {}, so these are kept: {}", merged->settings.model.preset, base::join(standing, ", ", "、")));
  }
}

// Whether a field may differ: fields that change neither shapes nor formulas.
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
        base::say("model.preset {} ({}) and model.path {} ({}) both set the model; keep one", preset->value, preset->origin, path->value, path->origin));
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

namespace {

// The settings of an adapter on disk, read without its tensors.
struct AdapterSettings {
  LoraSettings lora;  // path empty; targets "" where an adapter_config.json names none
  std::string file;   // that has them: adapter_config.json or manifest.json
};

constexpr std::int64_t most_adapter_bytes = std::int64_t{16} << 20;

AdapterSettings of_peft_folder(const std::string& file, std::int64_t layers) {
  const std::int64_t bytes = base::file_size(file);
  if (bytes > most_adapter_bytes)
    throw base::DataError(base::say("{} has {} bytes; the limit is {}", file, bytes, most_adapter_bytes));
  const PeftConfig config = parse_peft_config(base::read_file(file), file);
  std::vector<AdaptedModule> modules;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const auto& word : words_of(Projection{})) {
      const AdaptedModule module{layer, parse_word<Projection>(word).value()};
      if (config.means(name_of(module))) modules.push_back(module);
    }
  }
  AdapterSettings settings{lora_of(config, modules, file), file};
  if (!config.modules.is_stated()) settings.lora.targets.clear();
  return settings;
}

AdapterSettings of_run(const std::string& path, const std::string& file) {
  const nlohmann::json manifest = base::parse_json(base::read_file(file), file);
  AdapterSettings settings{settings_from_yaml(base::json_string(manifest, "settings_yaml", file), file).lora, file};
  if (settings.lora.rank == 0) throw base::DataError(base::say("'{}' is a full model; name an adapter: a folder with adapter_config.json, or a run with lora.rank", path));
  settings.lora.path.clear();
  return settings;
}

// Reads a PEFT folder, a checkpoint or a run with lora.rank, for a model of so many layers. DataError where `path` is none of these, and
// the errors of parse_peft_config and lora_of.
AdapterSettings read_adapter_settings(const std::string& path, std::int64_t layers) {
  refuse_other_than_folder(path);
  if (is_adapter_folder(path)) return of_peft_folder(path + "/" + adapter_config_name, layers);
  if (const std::string manifest = manifest_of(path); !manifest.empty()) return of_run(path, manifest);
  if (!gguf::holds_files(path)) throw base::DataError(base::say("'{}' is not a local folder, and nothing is downloaded: copy the model's folder", path));
  const bool model = gguf::file_exists(path + "/config.json");
  throw base::DataError(base::say(model ? base::Phrase("'{}' is a full model; name an adapter: a folder with adapter_config.json, or a run with lora.rank") : base::Phrase("'{}' holds no adapter: neither adapter_config.json, nor a checkpoint of a run with lora.rank"), path));
}

constexpr const char* adapter_keys[] = {"lora.rank",         "lora.alpha",         "lora.rslora", "lora.targets",
                                        "lora.rank_pattern", "lora.alpha_pattern", "lora.dropout"};

bool has_same_adapters(const LoraSettings& a, const LoraSettings& b, std::int64_t layers) {
  if (a.rank == 0 || adapted_projections(a) != adapted_projections(b)) return false;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const Projection projection : adapted_projections(b)) {
      const AdapterSize one = adapter_size(a, {layer, projection}), other = adapter_size(b, {layer, projection});
      if (one.rank != other.rank || std::fabs(one.scale - other.scale) > 1e-9 * other.scale) return false;
    }
  }
  return true;
}

// `given` where nothing is stated.
LoraSettings with_what_is_stated(const std::vector<Layer>& layers, const Settings& given, const Settings& stated) {
  Settings settings = given;
  for (const char* key : adapter_keys) {
    const Field& field = field_of(key);
    if (chosen(layers, key).assignment != nullptr) set_text(field, get_text(field, stated), &settings);
  }
  return settings.lora;
}

void note_what_is_taken(const std::vector<Layer>& layers, MergedSettings* merged) {
  const LoraSettings& lora = merged->settings.lora;
  const auto taken = [&](const char* key) { return chosen(layers, key).assignment == nullptr; };
  if (std::none_of(std::begin(adapter_keys), std::end(adapter_keys), taken)) return;
  base::Text more = base::verbatim(lora.rslora ? " (rsLoRA)" : "");
  for (const std::string& pattern : {lora.rank_pattern, lora.alpha_pattern})
    if (!pattern.empty()) more = base::say("{}, {}", more, pattern);
  merged->notes.push_back(base::say("taken from lora.path '{}' unless set: rank {}, alpha {:g}{}, targets {}, dropout {:g}", lora.path, lora.rank, usual_size(lora).alpha, more,
                                    lora.targets, lora.dropout));
}

void refuse_contradictions_to(const AdapterSettings& adapter, const std::vector<Layer>& layers,
                              MergedSettings* merged) {
  Settings own;
  own.lora = adapter.lora;
  for (const char* key : adapter_keys) {
    const Field& field = field_of(key);
    const Assignment* stated = chosen(layers, key).assignment;
    const std::string value = get_text(field, merged->settings), right = get_text(field, own);
    if (stated == nullptr || value == right || field.key() == "lora.dropout") continue;
    merged->errors.push_back(base::say("{0} {1} ({2}) contradicts {3} in {4}; leave it out", field.key(), value, stated->origin,
                                       right.empty() ? "\"\"" : right, adapter.file));
  }
}

}  // namespace

void take_adapter(const std::vector<Layer>& layers, MergedSettings* merged) {
  const std::string path = merged->settings.lora.path;
  if (path.empty() || !merged->errors.empty()) return;
  const bool needs_it = merged->settings.lora.rank == 0 || base::file_exists(path) || base::directory_exists(path);
  if (!needs_it) return;  // a run that continues from its own checkpoints has all numbers and may outlive the adapter
  const std::int64_t count = merged->settings.model.layers;
  AdapterSettings adapter = read_adapter_settings(path, count);
  if (adapter.lora.targets.empty()) adapter.lora.targets = merged->settings.lora.targets;
  const LoraSettings stated = merged->settings.lora;
  Settings own;
  own.lora = adapter.lora;
  LoraSettings& lora = merged->settings.lora;
  lora = with_what_is_stated(layers, own, merged->settings);
  lora.path = path;
  try {
    if (!has_same_adapters(lora, adapter.lora, count) && has_same_adapters(stated, adapter.lora, count)) lora = stated;
    if (!has_same_adapters(lora, adapter.lora, count)) refuse_contradictions_to(adapter, layers, merged);
  } catch (const base::ConfigError& error) {  // of targets or patterns that are not any
    merged->errors.push_back(base::text_of(error));
  }
  if (merged->errors.empty()) note_what_is_taken(layers, merged);
}

}  // namespace troika::config
