#include "config/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/model_layer.h"

namespace troika::config {
namespace {

struct Qwen3Preset {
  std::string_view name;
  std::int64_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab;
  bool tied;
};

constexpr std::array<Qwen3Preset, 11> qwen3_presets = {{
    // name, hidden, layers, heads, kv_heads, head_dim, ffn, vocab, tied
    {"qwen3-small", 512, 8, 8, 4, 64, 1536, 0, true},
    {"qwen3-medium", 768, 12, 12, 4, 64, 2304, 0, true},
    {"qwen3-large", 1024, 24, 16, 8, 64, 3072, 0, true},
    {"qwen3-0.6b", 1024, 28, 16, 8, 128, 3072, 151936, true},
    {"qwen3-1.7b", 2048, 28, 16, 8, 128, 6144, 151936, true},
    {"qwen3-4b", 2560, 36, 32, 8, 128, 9728, 151936, true},
    {"qwen3-8b", 4096, 36, 32, 8, 128, 12288, 151936, false},
    {"qwen3-14b", 5120, 40, 40, 8, 128, 17408, 151936, false},
    {"qwen3-32b", 5120, 64, 64, 8, 128, 25600, 151936, false},
    {"bench-4m", 256, 4, 4, 2, 64, 768, 4096, true},
    {"bench-35m", 512, 6, 8, 4, 64, 1536, 32000, true},
}};

// Heads divide the width. scaling: the factor of llama3's rule over 8192 positions; 0: none.
struct LlamaPreset {
  std::string_view name;
  Family architecture;
  std::int64_t hidden, layers, heads, kv_heads, ffn, vocab, max_positions;
  double rope_theta, norm_eps, scaling;
  bool tied;
};

constexpr std::array<LlamaPreset, 15> llama_presets = {{
    // name, architecture, hidden, layers, heads, kv_heads, ffn, vocab, max_positions, rope_theta, norm_eps, scaling, tied
    {"qwen2.5-0.5b", Family::qwen2, 896, 24, 14, 2, 4864, 151936, 32768, 1e6, 1e-6, 0, true},
    {"qwen2.5-1.5b", Family::qwen2, 1536, 28, 12, 2, 8960, 151936, 131072, 1e6, 1e-6, 0, true},
    {"qwen2.5-3b", Family::qwen2, 2048, 36, 16, 2, 11008, 151936, 32768, 1e6, 1e-6, 0, true},
    {"qwen2.5-7b", Family::qwen2, 3584, 28, 28, 4, 18944, 152064, 131072, 1e6, 1e-6, 0, false},
    {"qwen2.5-14b", Family::qwen2, 5120, 48, 40, 8, 13824, 152064, 131072, 1e6, 1e-5, 0, false},
    {"qwen2.5-32b", Family::qwen2, 5120, 64, 40, 8, 27648, 152064, 131072, 1e6, 1e-5, 0, false},
    {"qwen2.5-72b", Family::qwen2, 8192, 80, 64, 8, 29568, 152064, 131072, 1e6, 1e-5, 0, false},
    {"llama3-8b", Family::llama, 4096, 32, 32, 8, 14336, 128256, 8192, 5e5, 1e-5, 0, false},
    {"llama3-70b", Family::llama, 8192, 80, 64, 8, 28672, 128256, 8192, 5e5, 1e-5, 0, false},
    {"llama3.1-8b", Family::llama, 4096, 32, 32, 8, 14336, 128256, 131072, 5e5, 1e-5, 8, false},
    {"llama3.1-70b", Family::llama, 8192, 80, 64, 8, 28672, 128256, 131072, 5e5, 1e-5, 8, false},
    {"llama3.2-1b", Family::llama, 2048, 16, 32, 8, 8192, 128256, 131072, 5e5, 1e-5, 32, true},
    {"llama3.2-3b", Family::llama, 3072, 28, 24, 8, 8192, 128256, 131072, 5e5, 1e-5, 32, true},
    {"mistral-7b", Family::mistral, 4096, 32, 32, 8, 14336, 32768, 32768, 1e6, 1e-5, 0, false},
    {"smollm3-3b", Family::smollm3, 2048, 36, 16, 4, 11008, 128256, 65536, 5e6, 1e-6, 0, true},
}};

// head_dim 256, one layer in six without a window, tied.
struct GemmaPreset {
  std::string_view name;
  std::int64_t hidden, layers, heads, kv_heads, ffn, vocab, max_positions, window;
  double linear_scaling;  // of the layers without a window; 0: none
};

constexpr std::array<GemmaPreset, 3> gemma_presets = {{
    // name, hidden, layers, heads, kv_heads, ffn, vocab, max_positions, window, linear_scaling
    {"gemma3-270m", 640, 18, 4, 1, 2048, 262144, 32768, 512, 0},
    {"gemma3-1b", 1152, 26, 4, 1, 6912, 262144, 32768, 512, 0},
    {"gemma3-4b", 2560, 34, 8, 4, 10240, 262208, 131072, 1024, 8},
}};

// Feed-forward of 4 x hidden, 1024 positions, tied.
struct Gpt2Preset {
  std::string_view name;
  std::int64_t hidden, layers, heads, vocab;
};

constexpr std::array<Gpt2Preset, 5> gpt2_presets = {{
    // name, hidden, layers, heads, vocab
    {"gpt2-tiny", 256, 4, 4, 4096},
    {"gpt2-124m", 768, 12, 12, 50257},
    {"gpt2-medium", 1024, 24, 16, 50257},
    {"gpt2-large", 1280, 36, 20, 50257},
    {"gpt2-xl", 1600, 48, 25, 50257},
}};

ModelSettings model_of(const Qwen3Preset& preset) {
  ModelSettings model;
  model.preset = preset.name;
  model.hidden = preset.hidden;
  model.layers = preset.layers;
  model.heads = preset.heads;
  model.kv_heads = preset.kv_heads;
  model.head_dim = preset.head_dim;
  model.ffn = preset.ffn;
  model.vocab = preset.vocab;
  model.tie_embeddings = preset.tied;
  return model;
}

ModelSettings model_of(const LlamaPreset& preset) {
  ModelSettings model;
  model.preset = preset.name;
  model.architecture = preset.architecture;
  model.hidden = preset.hidden;
  model.layers = preset.layers;
  model.heads = preset.heads;
  model.kv_heads = preset.kv_heads;
  model.head_dim = preset.hidden / preset.heads;
  model.ffn = preset.ffn;
  model.vocab = preset.vocab;
  model.max_positions = preset.max_positions;
  model.rope_theta = preset.rope_theta;
  model.norm_eps = preset.norm_eps;
  model.tie_embeddings = preset.tied;
  if (model.architecture == Family::smollm3) model.layer_types = "fffn";
  if (preset.scaling == 0) return model;
  model.rope_scaling = RopeScaling::llama3;
  model.rope_factor = preset.scaling;
  return model;
}

ModelSettings model_of(const GemmaPreset& preset) {
  ModelSettings model;
  model.preset = preset.name;
  model.architecture = Family::gemma3_text;
  model.hidden = preset.hidden;
  model.layers = preset.layers;
  model.heads = preset.heads;
  model.kv_heads = preset.kv_heads;
  model.head_dim = 256;
  model.ffn = preset.ffn;
  model.vocab = preset.vocab;
  model.max_positions = preset.max_positions;
  model.rope_theta = 1e6;
  model.rope_local_theta = 1e4;
  model.sliding_window = preset.window;
  model.layer_types = "wwwwwf";
  if (preset.linear_scaling == 0) return model;
  model.rope_scaling = RopeScaling::linear;
  model.rope_factor = preset.linear_scaling;
  return model;
}

ModelSettings model_of(const Gpt2Preset& preset) {
  ModelSettings model;
  model.preset = preset.name;
  model.architecture = Family::gpt2;
  model.hidden = preset.hidden;
  model.layers = preset.layers;
  model.heads = model.kv_heads = preset.heads;
  model.head_dim = preset.hidden / preset.heads;
  model.ffn = 4 * preset.hidden;
  model.vocab = preset.vocab;
  model.max_positions = 1024;
  model.norm_eps = 1e-5;
  return model;
}

// The first Mistral, which sees a window.
ModelSettings mistral_with_window() {
  ModelSettings model = model_of(LlamaPreset{"mistral-7b-v0.1", Family::mistral, 4096, 32, 32, 8, 14336, 32000, 32768, 1e4, 1e-5, 0, false});
  model.sliding_window = 4096;
  return model;
}

const std::vector<ModelSettings>& all_presets() {
  static const std::vector<ModelSettings> all = [] {
    std::vector<ModelSettings> models{ModelSettings{}};
    for (const auto& preset : qwen3_presets) models.push_back(model_of(preset));
    for (const auto& preset : llama_presets) models.push_back(model_of(preset));
    models.push_back(mistral_with_window());
    for (const auto& preset : gemma_presets) models.push_back(model_of(preset));
    for (const auto& preset : gpt2_presets) models.push_back(model_of(preset));
    return models;
  }();
  return all;
}

}  // namespace

ModelSettings find_preset(const std::string& name) {
  for (const ModelSettings& model : all_presets()) {
    if (model.preset == name) return model;
  }
  std::string near = base::nearest(name, preset_names());
  if (near.empty()) near = base::nearest("qwen3-" + name, preset_names());
  throw base::ConfigError(near.empty() ? base::say("model.preset '{}' is unknown: the presets are {}", name, base::join(preset_names(), ", "))
                                       : base::say("model.preset '{}' is unknown: did you mean {}?", name, near));
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelSettings& model : all_presets()) names.push_back(model.preset);
  return names;
}

namespace {

constexpr std::int64_t width_per_layer = 64, head_dim = 128;

// The value of the highest layer that states the setting; "" when none does.
std::string stated(const std::vector<Layer>& layers, std::string_view key) {
  const Assignment* assignment = chosen(layers, key).assignment;
  return assignment == nullptr ? "" : assignment->value;
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

// The place that names another model, for a note; "" when there is none.
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
      layer.notes.push_back(base::say("{} sets only the batch, because {} sets the model", origin, other));
    }
    assign(&layer, "batch.seq_len", preset.seq_len, origin);
    assign(&layer, "batch.micro_batch_size", preset.micro_batch_size, origin);
    assign(&layer, "batch.total_batch_size", preset.total_batch_size, origin);
  }
  return layer;
}

std::string run_preset_named(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  const std::size_t ending = name.size() > 3 && base::ends_with(name, ".py") ? 3 : 0;
  if (ending == 0 && name != file) return "";
  name.resize(name.size() - ending);
  return word_or(name, TrainPreset::none) == TrainPreset::none ? "" : name;
}

}  // namespace troika::config
