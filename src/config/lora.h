// Low-rank adapters in the settings: which products they stand beside, and what does not go with them.
#pragma once

#include <string>
#include <vector>

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// The products of a block that an adapter may stand beside, in the order of a block's parameters.
const std::vector<std::string>& adapted_products();

// Those that lora.targets names, in that order. ConfigError naming what is none of them.
std::vector<std::string> lora_targets(const LoraSettings& lora);

// Nothing without adapters but a path that would be one.
void check_lora(const Settings& settings, Findings* findings);

}  // namespace troika::config
