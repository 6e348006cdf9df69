// The verbs of troika-engine, by name: each of Program::engine in verbs().
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

const Runs& engine_runs();

// Verbs that ranks share; Gloo writes to its sockets by calls that raise SIGPIPE when the peer has died.
bool speaks_to_peers(const Call& call);

}  // namespace troika::commands
