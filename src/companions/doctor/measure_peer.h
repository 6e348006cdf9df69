// Measures the way to another doctor.
#pragma once

#include <vector>

#include "doctor/tree.h"
#include "doctor/host_report.h"

namespace troika::doctor {

// reach: whether connections, large messages and datagrams arrive, some round trips, the clock: a fraction of a second where all is
// well. all: how fast messages of three sizes go there and back, too.
enum class Depth { reach, all };

// Never throws and never takes much longer than `seconds`, whatever the other does. `own`: this host's interfaces. Of `from` only the
// name is filled in by the caller.
PairReport measure_peer(const PeerDoctor& peer, Depth depth, double seconds, const std::vector<Interface>& own);

}  // namespace troika::doctor
