// A rank's process as others are told of it.
#pragma once

#include <cstdint>

#include "host/worker.h"
#include "records/incident.h"

namespace troika::launch {

// The rank of this host that it is.
records::Party party_of(const host::Worker& worker);
// How it ended. `memory_kills`: by the out-of-memory killer, shortly before.
records::Incident end_of(const host::Worker& worker, std::int64_t memory_kills);

}  // namespace troika::launch
