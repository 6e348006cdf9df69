// dataset_info.json: names for data sets, as LLaMA-Factory writes them. docs/formats/dataset-info.md has the members.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/source.h"

namespace troika::datasets {

struct DatasetInfo {
  std::vector<std::string> names;
  std::optional<Source> found;  // the one asked for
};

// Looks `name` up in folder/dataset_info.json; without that file there are no names. DataError naming file, name and
// member: for what is malformed, for files that are not there, and for what is not done: data that would have to be
// downloaded, preferences, pictures.
DatasetInfo read_dataset_info(const std::string& folder, const std::string& name);

}  // namespace troika::datasets
