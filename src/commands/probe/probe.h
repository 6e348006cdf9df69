// `troika probe`: measures this host, or as a launched rank the cluster, and writes a machine file.
#pragma once

#include "commands/verbs.h"

namespace troika::commands {

int run_probe(const Call& call);

}  // namespace troika::commands
