// Named sets of model numbers, and of model size and batch for two devices (train.preset).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/layers.h"
#include "config/settings/settings.h"

namespace troika::config {

// The preset of settings that come from a file: none is below them.
inline constexpr std::string_view no_preset = "none";

// The model of a preset, its own name in `preset`. qwen3-tiny ... qwen3-large are our sizes (tiny is the default of
// settings.h). These have the numbers of the published base models' config.json: qwen3-0.6b ... qwen3-32b (Qwen/Qwen3-*),
// qwen2.5-0.5b ... qwen2.5-72b (Qwen/Qwen2.5-*), llama3-8b and -70b, llama3.1-8b and -70b, llama3.2-1b and -3b
// (meta-llama/*), mistral-7b and mistral-7b-v0.1 (mistralai/Mistral-7B-v0.3, -v0.1), smollm3-3b (HuggingFaceTB/SmolLM3-3B), gemma3-270m,
// -1b and the text part of -4b (google/gemma-3-*), gpt2-124m, -medium, -large and -xl (openai-community/gpt2*).
// bench-4m, bench-35m (both qwen3) and gpt2-tiny are of our own
// sizes with a vocabulary of their own, for measuring.
// Throws ConfigError with the nearest name.
ModelSettings find_preset(const std::string& name);

// All names, by family.
std::vector<std::string> preset_names();

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
