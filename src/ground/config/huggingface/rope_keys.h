// The rotary positions of a config.json.
#pragma once

#include <vector>

#include "base/language.h"
#include "config/huggingface/json_keys.h"
#include "config/settings/settings.h"

namespace troika::config {

// Writes rope_* of `m`, whose architecture and max_positions are known, from rope_theta and rope_scaling, or both in rope_parameters, of
// layers together or by their types. What is not supported is added to `problems`, those of `keys`.
void read_rope(double default_theta, JsonKeys& keys, std::vector<base::Text>* problems, ModelSettings* m);

}  // namespace troika::config
