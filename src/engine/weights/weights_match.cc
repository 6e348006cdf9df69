#include "weights/weights_match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/say.h"
#include "checkpoint/listed.h"
#include "shape/layout.h"
#include "shape/published_names.h"
#include "weights/conversion.h"

namespace troika::weights {
namespace {

class Matcher {
 public:
  Matcher(const WeightsFolder& folder, const config::ModelSettings& stored, const config::ModelSettings& wanted)
      : folder_(folder), names_(shape::published_names(stored)), wanted_(shape::all_parameters(wanted)) {
    for (const auto& info : shape::all_parameters(stored)) known_.insert(info.name);
    for (const auto& info : wanted_) known_.insert(info.name);
  }

  Assignment match() {
    for (const auto& [name, tensor] : folder_.tensors()) assign(name, tensor);
    for (const auto& info : wanted_) check(info);
    std::vector<std::string> faults = missing_;
    faults.insert(faults.end(), different_.begin(), different_.end());
    faults.insert(faults.end(), unknown_.begin(), unknown_.end());
    if (faults.empty()) return std::move(found_);
    throw base::DataError(
        base::say("the weights in '{}' are not those of its config.json ({} of {} tensors missing, {} of another "
                    "shape or dtype, {} "
                    "unknown); take both files from one model:{}",
                    folder_.path(), missing_.size(), wanted_.size(), different_.size(), unknown_.size(),
                    checkpoint::listed(faults)));
  }

 private:
  void assign(const std::string& name, const StoredTensor& tensor) {
    const std::string parameter = known_.count(name) != 0                   ? name
                                  : known_.count(names_.prefix + name) != 0 ? names_.prefix + name
                                                                            : "";
    if (parameter.empty()) {
      if (!passed_over(name)) unknown_.push_back(fmt::format("unknown: {}", name));
    } else if (!found_.emplace(parameter, tensor).second) {
      unknown_.push_back(fmt::format("there twice: {}, with and without '{}'", parameter, names_.prefix));
    }
  }

  bool passed_over(const std::string& name) const {
    return std::any_of(names_.passed_over.begin(), names_.passed_over.end(), [&](const std::string& ending) {
      return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    });
  }

  void check(const shape::ParameterInfo& info) {
    const auto place = found_.find(info.name);
    if (place == found_.end()) {
      missing_.push_back(fmt::format("missing: {}", info.name));
    } else if (place->second.shape != info.shape) {
      different_.push_back(fmt::format("shape: {} is [{}] and should be [{}]", info.name,
                                       fmt::join(place->second.shape, ", "), fmt::join(info.shape, ", ")));
    } else if (!is_weight_dtype(place->second.dtype)) {
      different_.push_back(fmt::format("dtype: {} is {} and should be F32, BF16 or F16", info.name,
                                       place->second.dtype.name()));
    }
  }

  const WeightsFolder& folder_;
  const shape::PublishedNames names_;
  const std::vector<shape::ParameterInfo> wanted_;
  std::set<std::string> known_;
  Assignment found_;
  std::vector<std::string> missing_, different_, unknown_;
};

}  // namespace

Assignment match_weights(const WeightsFolder& folder, const config::ModelSettings& stored,
                         const config::ModelSettings& wanted) {
  return Matcher(folder, stored, wanted).match();
}

}  // namespace troika::weights
