// The sections and keys of DeepSpeed's JSON, and the settings that they become.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/import/deepspeed.h"

namespace troika::config {

// `root`: an object. `origin` is named in errors, which are in the layer.
DeepSpeed read_deepspeed_json(const nlohmann::json& root, const base::Text& origin);

}  // namespace troika::config
