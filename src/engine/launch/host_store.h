// The store that the hosts of a launch meet at: served on host 0, named for the others.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launch/host_flags.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::launch {

struct HostStore {
  std::unique_ptr<rendezvous::StoreServer> server;  // on host 0
  rendezvous::Identity identity;                    // names the store; its launch is known on host 0
};

// For `nproc` ranks on each host. ConfigError when the port of several hosts, or one that was asked for, is taken.
HostStore open_host_store(const HostOptions& hosts, int nproc);

// Who else could join; nothing where a secret or loopback keeps strangers out.
std::optional<std::string> note_about_strangers(const HostOptions& hosts);

}  // namespace troika::launch
