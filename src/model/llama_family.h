// Qwen3, Qwen2, Llama and Mistral.
#pragma once

#include <string>

#include "config/settings.h"

namespace troika::model {

// The config.json of any of them.
std::string llama_family_config(const config::ModelSettings& model);

}  // namespace troika::model
