// `troika plan`: the layouts of a training on machines, ranked, with their reasons.
#pragma once

#include <string>

#include "commands/verbs.h"

namespace troika::commands {

// The text to print, or one JSON object; writes --write's file. ConfigError when no layout fits, with what would.
std::string plan_report(const Call& call);

}  // namespace troika::commands
