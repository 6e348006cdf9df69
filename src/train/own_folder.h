// That a run writes in its own folder and nowhere else.
#pragma once

#include <string>

namespace troika::train {

// ConfigError naming the first thing in `folder` that a run writes to and that is a link or of another kind than Troika makes: what
// is written through a link, or removed behind it, is somebody else's. `cache` is data.cache; "": `folder`/data. Links of other
// names, and to checkpoints inside `folder`/checkpoints, are let be.
void check_own_folder(const std::string& folder, const std::string& cache);

}  // namespace troika::train
