// The names of a model's tensors in published files, where they differ from layout.h.
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
