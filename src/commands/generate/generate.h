// The verb `generate`: continues a text with a trained checkpoint.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

int run_generate(const Call& call);

}  // namespace troika::commands
