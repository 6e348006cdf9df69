// Named sets of model numbers.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace troika::config {

// The model of a preset, its own name in `preset`. qwen3-tiny ... qwen3-large are our sizes (tiny is the default of
// settings.h); qwen3-0.6b ... qwen3-32b have the numbers of the published models (config.json of Qwen/Qwen3-*), and so have
// gpt2-124m, -medium, -large and -xl (openai-community/gpt2*). bench-4m, bench-35m (both qwen3) and gpt2-tiny are of our own
// sizes with a vocabulary of their own, for measuring.
// Throws ConfigError with the nearest name.
ModelSettings find_preset(const std::string& name);

// All names, by family.
std::vector<std::string> preset_names();

}  // namespace troika::config
