// A PEFT folder as a source of an adapter.
#pragma once

#include <memory>
#include <string>

#include "train/adapter_source.h"

namespace troika::train {

// Collective over `world`; every host has a copy. DataError as of parse_peft_config, and when the tensors are missing,
// not pairs of A and B, or not those that target_modules means; ConfigError naming the rank whose copy differs.
std::unique_ptr<AdapterSource> open_peft_folder(const std::string& path, comm::Channel& world);

}  // namespace troika::train
