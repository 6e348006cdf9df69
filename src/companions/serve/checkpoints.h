// The checkpoints that stand in a run's folder.
#pragma once

#include <string>

namespace troika::serve {

// A list of {"step", "time", "bytes", "complete", "tensors", "world_size", "exported"}, the newest first. What its manifest does not
// say is null; bytes: of the files that lie here, other hosts have their own.
std::string checkpoints_json(const std::string& folder);

}  // namespace troika::serve
