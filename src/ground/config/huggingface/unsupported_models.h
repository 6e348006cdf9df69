// Keys of a config.json by which a model computes something else than its family does here.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/huggingface/json_keys.h"
#include "config/settings.h"

namespace troika::config {

// A problem for each. `root` is the object of `keys`, `model` what was read of it so far.
void refuse_unsupported(const nlohmann::json& root, const ModelSettings& model, JsonKeys& keys);

}  // namespace troika::config
