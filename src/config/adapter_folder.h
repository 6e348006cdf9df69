// What the folder of an adapter says of the model beside it. The rest of it: train/adapter_source.h.
#pragma once

#include <string>

#include "base/error.h"

namespace troika::config {

inline const char* const adapter_config_name = "adapter_config.json";

// Whether an adapter_config.json stands in it, whatever stands beside that.
bool is_adapter_folder(const std::string& path);

// Its base_model_name_or_path; "" when it states none.
std::string base_named_by(const std::string& path);

// That the base `named` by the adapter at `path` is not there, or "" named, and how to name one.
base::ConfigError without_base(const std::string& path, const std::string& named);

// Adapters may stand on adapters, so many at most.
inline constexpr int most_adapters = 8;
base::DataError too_many_adapters(const std::string& path);

}  // namespace troika::config
