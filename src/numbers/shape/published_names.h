// How published files name a model's tensors, where that is not what layout.h lists.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace troika::shape {

struct PublishedNames {
  std::string prefix;  // of all parameters but the head; files of the model without its head leave it out
  std::vector<std::string> passed_over;  // endings of tensors that are no parameters: masks, tables of rotary positions
};

PublishedNames published_names(const config::ModelSettings& model);

}  // namespace troika::shape
