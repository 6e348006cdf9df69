// `troika why RUN_DIR`: why a run failed, is slow or does not learn, and what to change.
#pragma once

#include <string>

#include "commands/verbs.h"

namespace troika::commands {

// The text to print. ConfigError: malformed arguments, no such folder, or one without anything of a run.
std::string why_report(const Call& call);

}  // namespace troika::commands
