#include "config/adapter_layer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "config/adapter_sizes.h"
#include "config/huggingface/adapter_settings.h"
#include "config/lora.h"
#include "config/model_layer.h"

namespace troika::config {
namespace {

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
  merged->notes.push_back(base::say("taken from lora.path '{}' where not stated: rank {}, alpha {:g}{}, targets {}, dropout {:g}", lora.path, lora.rank, usual_size(lora).alpha, more,
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
  if (!needs_it) return;  // a run that goes on from its own checkpoints has all numbers and may outlive the adapter
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
