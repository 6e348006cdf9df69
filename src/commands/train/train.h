// The verb `train`.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Returns the exit code: 0, or 130 when the run was interrupted and has saved.
int run_train(const Call& call);

}  // namespace troika::commands
