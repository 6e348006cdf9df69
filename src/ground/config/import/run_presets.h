// Named sets of model size and batch for two devices: train.preset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/layers.h"

namespace troika::config {

// The total batch is a whole number of microbatches on 1, 2, 4 and 8 data-parallel ranks.
struct RunPreset {
  TrainPreset preset;
  std::int64_t layers;
  std::int64_t micro_batch_size;  // sequences
  std::int64_t seq_len;           // tokens
  std::int64_t total_batch_size;  // tokens
};
const std::vector<RunPreset>& run_presets();

// The layer below all others: of the preset of the highest layer that names one, empty without one. Its model is the one
// of a qwen3 family with as many layers as model.layers says, else with the preset's: width 64 x layers, heads
// of 128 with keys and values of their own, feed-forward 3 x width, the tokenizer's vocabulary, tied. Where model.path
// or model.preset says what the model is, the batch alone.
Layer run_preset_layer(const std::vector<Layer>& layers);

// The preset that the name of a file or a word asks for: "configs/dual_gpu/balanced.py", "balanced". "" for others.
std::string run_preset_named(const std::string& file);

}  // namespace troika::config
