#include "config/import/run_presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "config/presets.h"

namespace troika::config {
namespace {

constexpr std::int64_t width_per_layer = 64, head_dim = 128;

// The value of the highest layer that states the setting; "" when none does.
std::string stated(const std::vector<Layer>& layers, std::string_view key) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const auto& list = layer->assignments;
    const auto found =
        std::find_if(list.rbegin(), list.rend(), [&](const Assignment& a) { return a.field->key() == key; });
    if (found != list.rend()) return found->value;
  }
  return "";
}

void assign(Layer* layer, std::string_view key, std::int64_t value, const base::Text& origin) {
  layer->assignments.push_back({&field_of(key), fmt::to_string(value), origin});
}

void assign_model(Layer* layer, std::int64_t layers, const base::Text& origin) {
  const std::int64_t width = width_per_layer * layers, heads = (width + head_dim - 1) / head_dim;
  layer->assignments.push_back({&field_of("model.preset"), std::string(no_preset), origin});
  assign(layer, "model.layers", layers, origin);
  assign(layer, "model.hidden", width, origin);
  assign(layer, "model.heads", heads, origin);
  assign(layer, "model.kv_heads", heads, origin);
  assign(layer, "model.head_dim", head_dim, origin);
  assign(layer, "model.ffn", 3 * width, origin);
}

// What names another model, for a note; "" when nothing does.
std::string other_model(const std::vector<Layer>& layers) {
  const std::string preset = stated(layers, "model.preset"), path = stated(layers, "model.path");
  if (!path.empty()) return "model.path " + path;
  return preset.empty() || preset == no_preset ? "" : "model.preset " + preset;
}

}  // namespace

const std::vector<RunPreset>& run_presets() {
  static const std::vector<RunPreset> rows = {
      // layers, micro_batch_size, seq_len, total_batch_size: 8 microbatches
      {TrainPreset::conservative, 12, 8, 1536, 98304},
      {TrainPreset::balanced, 16, 12, 2048, 196608},
      {TrainPreset::aggressive, 20, 14, 3072, 344064},
  };
  return rows;
}

Layer run_preset_layer(const std::vector<Layer>& layers) {
  Settings named;
  set_text(field_of("train.preset"), stated(layers, "train.preset"), &named);
  Layer layer;
  for (const RunPreset& preset : run_presets()) {
    if (preset.preset != named.train.preset) continue;
    const base::Text origin = base::verbatim("train.preset " + word_of(preset.preset));
    std::int64_t depth = preset.layers;
    base::parse_int(stated(layers, "model.layers"), &depth);
    const std::string other = other_model(layers);
    if (other.empty()) {
      assign_model(&layer, std::clamp<std::int64_t>(depth, 1, 10000), origin);
    } else {
      layer.notes.push_back(base::say("{} gives the batch alone, because {} says what the model is", origin, other));
    }
    assign(&layer, "batch.seq_len", preset.seq_len, origin);
    assign(&layer, "batch.micro_batch_size", preset.micro_batch_size, origin);
    assign(&layer, "batch.total_batch_size", preset.total_batch_size, origin);
  }
  return layer;
}

std::string run_preset_named(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  const std::size_t ending = name.size() > 3 && name.compare(name.size() - 3, 3, ".py") == 0 ? 3 : 0;
  if (ending == 0 && name != file) return "";
  name.resize(name.size() - ending);
  return word_or(name, TrainPreset::none) == TrainPreset::none ? "" : name;
}

}  // namespace troika::config
