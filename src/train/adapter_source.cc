#include "train/adapter_source.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "train/open_weights.h"

namespace troika::train {

std::string module_of(const std::string& adapter_parameter) {
  return adapter_parameter.substr(0, adapter_parameter.size() - std::string_view(lora_a).size());
}

std::string target_of(const std::string& adapter_parameter) {
  const std::string module = module_of(adapter_parameter);
  return module.substr(module.rfind('.') + 1);
}

std::unique_ptr<AdapterSource> open_adapter(const std::string& path, comm::Channel& world) {
  Weights weights = open_weights(path, world);
  if (weights.adapter == nullptr)
    throw base::DataError(fmt::format(
        "'{}' is a whole model; name an adapter: a folder with adapter_config.json, or a run with lora.rank", path));
  return std::move(weights.adapter);
}

}  // namespace troika::train
