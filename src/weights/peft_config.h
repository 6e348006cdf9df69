// adapter_config.json: what PEFT, Hugging Face's library of adapters, writes beside an adapter's tensors. Format:
// docs/formats/adapter.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "weights/module_pattern.h"

namespace troika::weights {

struct PeftConfig {
  config::LoraSettings lora;  // alpha as settings mean it; targets as in a new LoraSettings
  std::string base;           // "" when it names none
  ModulePattern modules;
  std::string layers;  // layers_to_transform as it stands, "" when absent
};

// DataError naming `origin` that lists, all at once and each by name and value, every member that is malformed or by
// which the adapter computes something else than A and B beside a product do. Members that change no number are passed
// over.
PeftConfig parse_peft_config(std::string_view json, const std::string& origin);

// The text for an adapter with these settings beside `base`; `targets`: names of products.
std::string peft_config_text(const config::LoraSettings& lora, const std::vector<std::string>& targets,
                             const std::string& base);

}  // namespace troika::weights
