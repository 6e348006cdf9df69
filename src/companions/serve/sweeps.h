// Sweeps below the folder that is served, as what /api/sweeps answers.
#pragma once

#include <string>
#include <vector>

#include "serve/run_folders.h"

namespace troika::serve {

// One that cannot be read is in the list, without rows.
std::string sweeps_json(const std::vector<NamedFolder>& sweeps);

// DataError for damaged files.
std::string sweep_json(const NamedFolder& sweep);

}  // namespace troika::serve
