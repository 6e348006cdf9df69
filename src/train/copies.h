// Folders of which every host has a copy under the same path.
#pragma once

#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::train {

// Collective over `world`. ConfigError naming the first rank, and its host, that has no copy of `what` ("model folder")
// at `path`; `there`: which ranks have one.
void refuse_missing_copies(const std::string& what, const std::string& path, const std::vector<bool>& there,
                           comm::Channel& world);

// Collective over `world`. ConfigError naming the first rank whose copy is not that of rank 0.
void refuse_unlike_copies(const std::string& path, const std::vector<std::string>& fingerprints, comm::Channel& world);

}  // namespace troika::train
