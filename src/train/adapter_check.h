// Whether an adapter fits a model.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "model/layout.h"

namespace troika::train {

// Of every segment, sorted by name. ConfigError as of model::adapter_parameters.
std::vector<model::ParameterInfo> all_adapter_parameters(const config::ModelSettings& model,
                                                         const config::LoraSettings& lora);

// As AdapterSource::check says, of an adapter at `path` that holds `held`. `missing_too`: names that are missing
// besides, `remark`: what may explain it; may be empty.
void check_adapter(const std::string& path, const std::vector<model::ParameterInfo>& held,
                   const config::ModelSettings& model, const config::LoraSettings& lora,
                   const std::vector<std::string>& missing_too = {}, const std::string& remark = "");

}  // namespace troika::train
