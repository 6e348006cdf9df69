// The verb `eval`.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Returns the exit code.
int run_eval(const Call& call);

}  // namespace troika::commands
