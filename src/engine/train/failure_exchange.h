// How a rank that ends badly tells the others, and learns whether another one failed first.
#pragma once

#include <memory>
#include <string>

#include "rendezvous/failure_report.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::train {

struct FailureCause {
  // The first cause, when another rank failed first or this one was found to have failed; else empty.
  base::Text failure;
  bool launcher_tells = false;  // our launcher has heard this error, or its cause, and shows it
};

// Of a rank that has announced itself. `client` is replaced where its connection is broken; `heartbeat` may be null. Takes some
// seconds at most.
FailureCause exchange_failure(const rendezvous::Identity& identity, std::unique_ptr<rendezvous::StoreClient>& client,
                              rendezvous::HeartbeatClient* heartbeat, const rendezvous::FailureReport& own);

// What a rank says that leaves at once because it was asked to, so that the others end with it (exit code 130). From any thread;
// takes at most about 2 s.
void leave_at_once(const rendezvous::Identity& identity, const base::Text& why);

}  // namespace troika::train
