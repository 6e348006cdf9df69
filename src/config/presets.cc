#include "config/presets.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace troika::config {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab;
  bool tied;
};

constexpr std::array<Preset, 9> presets = {{
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
}};

}  // namespace

ModelSettings find_preset(const std::string& name) {
  ModelSettings model;
  if (name == model.preset) return model;
  for (const auto& preset : presets) {
    if (preset.name != name) continue;
    model.preset = name;
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
  std::string near = base::nearest(name, preset_names());
  if (near.empty()) near = base::nearest("qwen3-" + name, preset_names());
  throw base::ConfigError(near.empty() ? fmt::format("model.preset '{}' is unknown: the presets are {}", name,
                                                     base::join(preset_names(), ", "))
                                       : fmt::format("model.preset '{}' is unknown: did you mean {}?", name, near));
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names{ModelSettings{}.preset};
  for (const auto& preset : presets) names.emplace_back(preset.name);
  return names;
}

}  // namespace troika::config
