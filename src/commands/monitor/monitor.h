// `troika monitor`: a run as it goes, on a screen, as lines, as text or as JSON.
#pragma once

#include <string>

#include "base/language.h"
#include "commands/monitor/sparkline.h"
#include "commands/verbs.h"

namespace troika::commands {

// Only reads: whatever becomes of it, the run continues. On a terminal until q or Ctrl-C, elsewhere until the run is over. 0.
// ConfigError: malformed arguments, no run where they say.
int run_monitor(const Call& call);

namespace monitor {

// What characters a terminal of this environment shows.
Charset charset_of(const config::Environment& environment);
// Of --lang. auto is Chinese only where the terminal shows UTF-8.
base::Language language_in(const config::Environment& environment, const std::string& word);

}  // namespace monitor

}  // namespace troika::commands
