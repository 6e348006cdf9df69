// Whether a run is under way in a folder.
#pragma once

#include <string>

namespace troika::records {

// A process, of whatever host where the file system tells that, holds RUN/run.lock; on a file system without locks one of this host.
// True, too, where that may not be asked.
bool in_use(const std::string& folder);

}  // namespace troika::records
