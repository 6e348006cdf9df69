// The store that the hosts of a launch meet at: served on host 0, named for the others, told why a host has not started.
#pragma once

#include <memory>
#include <optional>

#include "base/error.h"
#include "launch/flags.h"
#include "launch/launcher.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::launch {

struct HostStore {
  std::unique_ptr<rendezvous::StoreServer> server;  // on host 0
  rendezvous::Identity identity;                    // names the store; its launch is known on host 0
};

// For `nproc` ranks on each host. ConfigError when the port of several hosts, or one that was asked for, is taken.
HostStore open_host_store(const HostOptions& hosts, int nproc);

// The note on who else could join; nothing where a secret or loopback keeps strangers out.
std::optional<base::Text> note_about_strangers(const HostOptions& hosts);

// Whether host 0 reaches its own store by the address that all hosts were given: its ranks meet there as those of other hosts do, so an address that does not lead to this host is a ConfigError at once. A name may
// come later, as in clusters: it is said at once that it has no address, and waited for, half a minute at most, or join_seconds where a
// cluster starts the hosts. `store` names the store's port. Stopped at a stop signal.
void check_own_address(const HostOptions& hosts, const rendezvous::Identity& store, double join_seconds,
                       host::Signals& signals, const Speaker& speaker);

// Below the launch: why host 0 has not started; and, below each number of a host, that its launcher has heard it, or why that one has
// not started; each a failure report.
inline constexpr const char* not_started_key = "not-started";
inline constexpr const char* heard_it_key = "heard-not-started";
inline constexpr const char* refused_host_key = "refused-host";

// Tells the others that this launcher's settings or files are refused before it meets them, so none waits for it. One host:
// nothing. Host 0 serves a store until all others have heard it, 10 s at most; another host tells host 0 where it is there.
// Never throws.
void tell_not_started(const HostOptions& hosts, const base::Error& error, const Speaker& speaker);

// Throws it as an error of its kind.
[[noreturn]] void throw_not_started(const rendezvous::FailureReport& of_host_0);

}  // namespace troika::launch
