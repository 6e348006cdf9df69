// The trained part of a model. LoRA adapters in the settings: which projections they adapt, which settings exclude them, and the
// rank and scale of each, from lora.rank and lora.alpha or from the pattern that matches its projection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "config/batch.h"
#include "config/settings/settings.h"

namespace troika::config {

// The projections of a layer that an adapter may be on, in the order of the layer's parameters.
const std::vector<std::string>& adaptable_projections();

// Those that lora.targets names, in that order, and their names. ConfigError naming what is none of them.
std::vector<Projection> adapted_projections(const LoraSettings& lora);
std::vector<std::string> lora_targets(const LoraSettings& lora);

// Nothing without adapters but a path that would be one.
void check_lora(const Settings& settings, Findings* findings);

// A projection of layer 0, 1, ...
struct AdaptedModule {
  std::int64_t layer = 0;
  Projection projection = Projection::q;
  bool operator<(const AdaptedModule& other) const {
    return std::pair(layer, projection) < std::pair(other.layer, other.projection);
  }
};
std::string name_of(const AdaptedModule& module);                         // "model.layers.3.self_attn.v_proj"
std::optional<AdaptedModule> adapted_module(const std::string& name);  // of such a name

// y += scale dropout(x) A^T B^T with A [rank, I] and B [O, rank]; scale: alpha / rank, with lora.rslora alpha / sqrt(rank)
// (D. Kalajdzievski, "A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA", 2023).
struct AdapterSize {
  std::int64_t rank = 0;
  double alpha = 0, scale = 0;
};

// ConfigError for a pattern that wrong_patterns refuses.
AdapterSize adapter_size(const LoraSettings& lora, const AdaptedModule& module);

// The size of adapters that no pattern names.
AdapterSize usual_size(const LoraSettings& lora);

// The faults of lora.rank_pattern and lora.alpha_pattern in a model of so many layers: an entry that is not NAME:NUMBER, a name
// without an adapter, a number out of bounds.
std::vector<base::Text> wrong_patterns(const LoraSettings& lora, std::int64_t layers);

// A pattern by which each of these modules, which are all adapters, has its number, where `usual` needs none: "q_proj:16"
// where all layers agree, else "layers.3.self_attn.v_proj:4"; names as in adapter_config.json. "" where all have `usual`.
std::string pattern_of(const std::vector<std::pair<AdaptedModule, double>>& values, double usual);

// The pattern as names with their numbers.
std::vector<std::pair<std::string, double>> entries_of(const std::string& pattern);

// Both patterns with the names of pattern_of, and lora.alpha as a number: alike for settings whose adapters are equal.
LoraSettings with_plain_sizes(LoraSettings lora, std::int64_t layers);

// The segments that a run trains: all, all but train.freeze, or some layers (train.trainable_layers). By segment: 0 is the
// embedding, 1..layers are transformer layers, layers + 1 is the final norm with the head; model.layers of the settings is final.
// With low-rank adapters none: the trained parameters are beside them. ConfigError naming every part that is wrong.
std::vector<bool> trained_segments(const Settings& settings);

// The same as findings: parts that the model has not, a part of a tied embedding's table, nothing left to train, and
// settings that exclude each other.
void check_freeze(const Settings& settings, Findings* findings);

}  // namespace troika::config
