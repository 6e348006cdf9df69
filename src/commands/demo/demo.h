// `troika demo`: from text of this machine to a trained model in two layouts, by the commands that a user would type.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

// Returns 0, 130 when stopped, or the code of the command that failed, which has said why.
// ConfigError: the folder holds something else, cannot be written, or has no room; no text.
int run_demo(const Call& call);

}  // namespace troika::commands
