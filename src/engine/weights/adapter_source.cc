#include "weights/adapter_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/say.h"
#include "weights/weights_folder.h"
#include "shape/adapter.h"

namespace troika::weights {

std::string module_of(const std::string& adapter_parameter) {
  return adapter_parameter.substr(0, adapter_parameter.size() - std::string_view(lora_a).size());
}

std::string target_of(const std::string& adapter_parameter) {
  const std::string module = module_of(adapter_parameter);
  return module.substr(module.rfind('.') + 1);
}

std::vector<shape::ParameterInfo> all_adapter_parameters(const config::ModelSettings& model,
                                                         const config::LoraSettings& lora) {
  std::vector<shape::ParameterInfo> all;
  for (int segment = 0; segment < shape::segment_count(model); ++segment)
    for (auto& info : shape::adapter_parameters(model, lora, segment)) all.push_back(std::move(info));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

void check_adapter(const std::string& path, const std::vector<shape::ParameterInfo>& held,
                   const config::ModelSettings& model, const config::LoraSettings& lora,
                   const std::vector<std::string>& also_missing, const base::Text& remark) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& info : held) shapes[info.name] = info.shape;
  std::vector<base::Text> faults;
  std::set<std::string> targets;
  for (const auto& info : all_adapter_parameters(model, lora)) {
    targets.insert(target_of(info.name));
    const auto place = shapes.find(info.name);
    if (place == shapes.end()) {
      faults.push_back(base::say("missing: {}", info.name));
    } else if (place->second != info.shape) {
      faults.push_back(base::say("shape: {} is [{}] and should be [{}]", info.name, fmt::join(place->second, ", "),
                                 fmt::join(info.shape, ", ")));
    }
  }
  for (const std::string& name : also_missing) faults.push_back(base::say("missing: {}", name));
  for (const auto& info : held)
    if (targets.count(target_of(info.name)) == 0) faults.push_back(base::say("not targeted: {}", info.name));
  if (faults.empty()) return;
  throw base::DataError(base::say("the adapter '{}' does not have rank {} for targets {} of this model{}:{}", path,
                                  lora.rank, lora.targets, remark, listed(faults)));
}

}  // namespace troika::weights
