// LoRA adapters in the settings: which projections they adapt, and which settings exclude them.
#pragma once

#include <string>
#include <vector>

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// The projections of a layer that an adapter may be on, in the order of the layer's parameters.
const std::vector<std::string>& adaptable_projections();

// Those that lora.targets names, in that order, and their names. ConfigError naming what is none of them.
std::vector<Projection> adapted_projections(const LoraSettings& lora);
std::vector<std::string> lora_targets(const LoraSettings& lora);

// Nothing without adapters but a path that would be one.
void check_lora(const Settings& settings, Findings* findings);

}  // namespace troika::config
