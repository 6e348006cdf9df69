// Which parameters an adapter has, by name, and whether those of one fit a model.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "shape/layout.h"

namespace troika::weights {

// "model.layers.0.self_attn.q_proj" and "q_proj" of "model.layers.0.self_attn.q_proj.lora_A.weight".
std::string module_of(const std::string& adapter_parameter);
std::string target_of(const std::string& adapter_parameter);
inline const char* const lora_a = ".lora_A.weight";  // [rank, inputs]
inline const char* const lora_b = ".lora_B.weight";  // [outputs, rank]

// The adapters of every segment, sorted by name. ConfigError like shape::adapter_parameters.
std::vector<shape::ParameterInfo> all_adapter_parameters(const config::ModelSettings& model,
                                                         const config::LoraSettings& lora);

// As AdapterSource::check says, of an adapter at `path` that holds `held`. `also_missing`: names that are missing
// besides, `remark`: what may explain it; may be empty.
void check_adapter(const std::string& path, const std::vector<shape::ParameterInfo>& held,
                   const config::ModelSettings& model, const config::LoraSettings& lora,
                   const std::vector<std::string>& also_missing = {}, const std::string& remark = "");

}  // namespace troika::weights
