#include "train/model_source.h"

#include <fmt/format.h>

#include "base/error.h"
#include "train/adapter_base.h"
#include "train/open_weights.h"

namespace troika::train {

std::unique_ptr<ModelSource> open_model(const std::string& path, comm::Channel& world, const std::string& base) {
  Weights weights = open_weights(path, world);
  if (weights.adapter != nullptr) return merge_with_base(std::move(weights.adapter), base, world);
  if (!base.empty())
    throw base::ConfigError(
        fmt::format("'{}' is a whole model, beside which no other stands; leave --base {} out", path, base));
  return std::move(weights.model);
}

}  // namespace troika::train
