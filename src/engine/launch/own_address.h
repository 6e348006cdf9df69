// Whether host 0 reaches its own store by the address that all hosts were given.
#pragma once

#include "host/signals.h"
#include "launch/host_flags.h"
#include "rendezvous/identity.h"

namespace troika::launch {

// Its ranks meet there as those of other hosts do, so an address that does not lead to this host is a ConfigError at once. A name may
// come later, as in clusters: it is said at once that it has no address, and waited for, half a minute at most, or join_seconds where a
// cluster starts the hosts. `store` names the store's port. Stopped at a stop signal.
void check_own_address(const HostOptions& hosts, const rendezvous::Identity& store, double join_seconds, host::Signals& signals);

}  // namespace troika::launch
