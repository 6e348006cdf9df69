// `troika manual`: the pages that man shows, printed or written.
#pragma once

#include <string>

#include "commands/verbs.h"

namespace troika::commands {

// Returns what is to be printed: a page, or "" where all have been written. ConfigError, DataError.
std::string manual_report(const Call& call);

}  // namespace troika::commands
