// `troika serve`: a page to see runs, compare them, start, stop and resume them.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Prints the address and serves until a signal asks to stop. Runs outlive it. 0. ConfigError: malformed arguments, no such folder,
// the port is taken.
int run_serve(const Call& call);

}  // namespace troika::commands
