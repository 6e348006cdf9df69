// The settings of an adapter on disk, read without its tensors.
#pragma once

#include <cstdint>
#include <string>

#include "config/settings.h"

namespace troika::config {

struct AdapterSettings {
  LoraSettings lora;  // path empty; targets "" where an adapter_config.json names none
  std::string file;   // that says so: adapter_config.json or manifest.json
};

// Reads a PEFT folder, a checkpoint or a run with lora.rank, for a model of so many layers. DataError where `path` is
// none of these, and the errors of parse_peft_config and lora_of.
AdapterSettings read_adapter_settings(const std::string& path, std::int64_t layers);

}  // namespace troika::config
