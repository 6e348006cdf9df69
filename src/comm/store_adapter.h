// Our store as Gloo sees stores. Included by the Gloo channel only.
#pragma once

#include <memory>
#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace gloo::rendezvous {
class Store;
}

namespace troika::comm {

// Keys get `prefix` and the generation in front. Waits end early, with PeerError, when a failure report is written.
std::unique_ptr<gloo::rendezvous::Store> adapt_store(std::shared_ptr<rendezvous::StoreClient> client,
                                                     const rendezvous::Identity& identity, const std::string& prefix,
                                                     double timeout_seconds);

}  // namespace troika::comm
