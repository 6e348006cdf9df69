#include "train/adapter_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "checkpoint/listed.h"
#include "model/adapter.h"
#include "train/adapter_source.h"

namespace troika::train {

std::vector<model::ParameterInfo> all_adapter_parameters(const config::ModelSettings& model,
                                                         const config::LoraSettings& lora) {
  std::vector<model::ParameterInfo> all;
  for (int segment = 0; segment < model::segment_count(model); ++segment)
    for (auto& info : model::adapter_parameters(model, lora, segment)) all.push_back(std::move(info));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

void check_adapter(const std::string& path, const std::vector<model::ParameterInfo>& held,
                   const config::ModelSettings& model, const config::LoraSettings& lora,
                   const std::vector<std::string>& missing_too, const std::string& remark) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& info : held) shapes[info.name] = info.shape;
  std::vector<std::string> faults;
  std::set<std::string> targets;
  for (const auto& info : all_adapter_parameters(model, lora)) {
    targets.insert(target_of(info.name));
    const auto place = shapes.find(info.name);
    if (place == shapes.end()) {
      faults.push_back("missing: " + info.name);
    } else if (place->second != info.shape) {
      faults.push_back(fmt::format("shape: {} is [{}] and should be [{}]", info.name, fmt::join(place->second, ", "),
                                   fmt::join(info.shape, ", ")));
    }
  }
  for (const std::string& name : missing_too) faults.push_back("missing: " + name);
  for (const auto& info : held)
    if (targets.count(target_of(info.name)) == 0) faults.push_back("not among the targets: " + info.name);
  if (faults.empty()) return;
  throw base::DataError(fmt::format("the adapter '{}' is not one of rank {} for targets {} of this model{}:{}", path,
                                    lora.rank, lora.targets, remark, checkpoint::listed(faults)));
}

}  // namespace troika::train
