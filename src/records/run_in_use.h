// Whether a run is under way in a folder.
#pragma once

#include <string>

namespace troika::records {

// A process, of whatever host where the file system tells that, holds RUN/run.lock. False where there is none, or the file system
// knows no locks.
bool in_use(const std::string& folder);

}  // namespace troika::records
