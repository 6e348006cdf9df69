#include "model/layout.h"

#include <algorithm>

#include "model/architecture.h"

namespace troika::model {

std::int64_t ParameterInfo::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

int segment_count(const config::ModelSettings& model) { return static_cast<int>(model.layers) + 2; }

std::vector<ParameterInfo> segment_parameters(const config::ModelSettings& model, int segment) {
  return architecture_of(model).parameters(model, segment);
}

std::vector<ParameterInfo> all_parameters(const config::ModelSettings& model) {
  std::vector<ParameterInfo> all;
  for (int segment = 0; segment < segment_count(model); ++segment) {
    for (auto& info : segment_parameters(model, segment)) all.push_back(std::move(info));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::int64_t parameter_count(const config::ModelSettings& model) {
  std::int64_t count = 0;
  for (const auto& info : all_parameters(model)) count += info.elements();
  return count;
}

std::string hugging_face_config(const config::ModelSettings& model) {
  return architecture_of(model).hugging_face_config(model);
}

}  // namespace troika::model
