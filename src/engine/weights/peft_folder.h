// A PEFT folder as a source of an adapter: adapter_config.json beside adapter_model.safetensors.
#pragma once

#include <memory>
#include <string>

#include "weights/adapter_source.h"

namespace troika::weights {

inline const char* const adapter_weights_name = "adapter_model.safetensors";
inline const char* const peft_prefix = "base_model.model.";  // of every tensor's name in it

// Collective over `world`; every host has a copy. DataError as of parse_peft_config, and when the tensors are missing,
// not pairs of A and B, or not those that target_modules means; ConfigError naming the rank whose copy differs.
std::unique_ptr<AdapterSource> open_peft_folder(const std::string& path, comm::Channel& world);

}  // namespace troika::weights
