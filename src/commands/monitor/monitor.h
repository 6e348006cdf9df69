// `troika monitor`: a run as it goes, on a screen, as lines, as text or as JSON.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Only reads: whatever becomes of it, the run continues. On a terminal until q or Ctrl-C, elsewhere until the run is over. 0.
// ConfigError: malformed arguments, no run where they say.
int run_monitor(const Call& call);

}  // namespace troika::commands
