#include "train/failure_exchange.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "rendezvous/socket.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/launcher_peer.h"

namespace troika::train {

static constexpr double last_wait_seconds = 3;  // of the rank that hosts the store, for others that fail as well

// Writes what failed where the failure monitor and the launcher read it. False when the store is gone.
static bool tell(rendezvous::StoreClient& client, const rendezvous::Identity& identity,
                 const rendezvous::FailureReport& own) {
  try {
    client.set_deadline(2);
    client.set(rendezvous::key_of(identity, fmt::format("failed/{:06}", identity.world_rank)),
               rendezvous::to_text(own));
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

// Over another connection when that one is broken: the network may be there again.
static bool tell_in_any_case(std::unique_ptr<rendezvous::StoreClient>& client, const rendezvous::Identity& identity,
                             const rendezvous::FailureReport& own) {
  if (tell(*client, identity, own)) return true;
  constexpr double wait_seconds = 3;
  try {
    client = std::make_unique<rendezvous::StoreClient>(identity, wait_seconds);
  } catch (const base::Error&) {
    return false;
  }
  return tell(*client, identity, own);
}

// "" when there is none, or nobody to ask.
static base::Text failure_told_by(rendezvous::StoreClient& client, const rendezvous::Identity& identity) {
  try {
    client.set_deadline(2);
    rendezvous::FailureReport report;
    return rendezvous::read_failure_report(client, identity, &report) ? report.said() : base::Text{};
  } catch (const base::Error&) {
    return {};
  }
}

// A broken connection says nothing about who broke it: the failure report does, and it may come a moment later. It is read before
// this rank tells of its own end, which may be what the rank that hosts the store has waited for to leave.
FailureCause exchange_failure(const rendezvous::Identity& identity, std::unique_ptr<rendezvous::StoreClient>& client,
                              rendezvous::HeartbeatClient* heartbeat, const rendezvous::FailureReport& own) {
  FailureCause cause;
  cause.failure = failure_told_by(*client, identity);
  const bool told = tell_in_any_case(client, identity, own);
  if (!told && cause.failure.empty()) {
    const base::Text stopped = rendezvous::stopped_launcher(identity);
    cause.failure = base::say(
        "{} at {} does not answer any more: {}",
        identity.source == rendezvous::Identity::Source::troika_launch ? base::say("the launcher of host 0") : base::say("rank 0"),
        rendezvous::endpoint_text(identity.master_address, identity.store_port),
        stopped.empty() ? base::say("its process ended, or its host is gone or off the network") : stopped);
    return cause;
  }
  if (told && heartbeat != nullptr && cause.failure.empty()) {
    heartbeat->failed(own);
    cause.failure = heartbeat->failure_report();
    for (int i = 0; own.exit_code == base::exit_peer_lost && cause.failure.empty() && i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cause.failure = heartbeat->failure_report();
    }
  }
  cause.launcher_tells = told && identity.source == rendezvous::Identity::Source::troika_launch;
  if (identity.hosts_store) rendezvous::await_all_done(*client, identity, last_wait_seconds);
  return cause;
}

// By a connection of its own: the others may be in use.
void leave_at_once(const rendezvous::Identity& identity, const base::Text& why) {
  try {
    rendezvous::StoreClient client(identity, 1);
    const bool told = tell(client, identity, {base::exit_interrupted, why});
    if (told && identity.hosts_store) rendezvous::await_all_done(client, identity, 1);
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

}  // namespace troika::train
