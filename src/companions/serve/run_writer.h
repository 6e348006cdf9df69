// Whether a process writes a run: what a folder says of processes is believed only where the kernel says so too.
#pragma once

#include <cstdint>
#include <string>

namespace troika::serve {

// A process of Troika that has the folder's launch.lock, run.lock or a log of its ranks open, or that has started one which has. False for
// what /proc does not tell, as of other users' processes.
bool writes_run(std::int64_t pid, const std::string& run_folder);

}  // namespace troika::serve
