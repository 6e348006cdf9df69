// The verb `bench`: kernels, step, comm.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Returns the exit code. ConfigError for wrong words.
int run_bench(const Call& call);

}  // namespace troika::commands
