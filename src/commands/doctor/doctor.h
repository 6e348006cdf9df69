// `troika doctor`: what of this host, or of all hosts of a run, would make it fail or slow.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Prints the report on standard output. Returns 0 when all is well, 2 when something would stop the run, 75 when a host did not answer.
int run_doctor(const Call& call);

}  // namespace troika::commands
