// Why a run failed, is slow or does not learn, found by a process of its own.
#pragma once

#include <string>

#include "serve/options.h"
#include "serve/routes.h"

namespace troika::serve {

// What `troika why FOLDER --json` prints, with the sentence of its cause. That program gives up a disk that does not answer after
// 10 s, and is ended where nobody waits any more. Refused 404 for a folder that holds no records yet.
std::string why_json(const Options& options, const std::string& folder, const Asked& asked);
// The same, "" where no cause is found.
std::string found_why(const Options& options, const std::string& folder, const Asked& asked);

}  // namespace troika::serve
