// `troika launch`: starts the ranks of a run on this host, watches them, and ends them together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

// Host 0's launcher also serves the store that all ranks of the run meet at. Every rank gets RANK WORLD_SIZE
// LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT TROIKA_STORE TROIKA_GENERATION TROIKA_LAUNCH, and,
// unless they are set, what binding.h says of threads. World rank 0 writes to this terminal, the
// others to files. It speaks `language`, and so do ranks that are verbs of ours. Returns 0, 130 when interrupted after saving, or the exit code of the first cause (75 for a rank
// that was killed).
int run_launch(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
               base::Language language);

}  // namespace troika::commands
