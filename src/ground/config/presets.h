// Named sets of model numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace troika::config {

// The preset of settings that come from a file: none is below them.
inline constexpr std::string_view no_preset = "none";

// The model of a preset, its own name in `preset`. qwen3-tiny ... qwen3-large are our sizes (tiny is the default of
// settings.h). These have the numbers of the published base models' config.json: qwen3-0.6b ... qwen3-32b (Qwen/Qwen3-*),
// qwen2.5-0.5b ... qwen2.5-72b (Qwen/Qwen2.5-*), llama3-8b and -70b, llama3.1-8b and -70b, llama3.2-1b and -3b
// (meta-llama/*), mistral-7b (mistralai/Mistral-7B-v0.3), gpt2-124m, -medium, -large and -xl (openai-community/gpt2*).
// bench-4m, bench-35m (both qwen3) and gpt2-tiny are of our own
// sizes with a vocabulary of their own, for measuring.
// Throws ConfigError with the nearest name.
ModelSettings find_preset(const std::string& name);

// All names, by family.
std::vector<std::string> preset_names();

}  // namespace troika::config
