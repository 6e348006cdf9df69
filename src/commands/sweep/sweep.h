// `troika sweep`: trains every layout that fits for a few steps, and shows what was measured beside what was planned.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Writes the folder that docs/formats/sweep.md describes, progress to stderr, the table and the best to stdout. 0 when a layout
// was measured, 75 when none was or a host is gone, 130 when a signal ended it; hosts other than 0 end with its code. ConfigError
// for wrong words or when no layout fits.
int run_sweep(const Call& call);

}  // namespace troika::commands
