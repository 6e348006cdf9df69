// The verbs of troika-engine, by name: each of Program::engine in verbs().
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

const Runs& engine_runs();

}  // namespace troika::commands
