// Joining and leaving: every rank registers, learns that all others came, and hears of a failure while it waits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "records/incident.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct Peer {
  std::string host;     // the host's name
  std::string address;  // how peers reach it
  int pid = 0;
  int node_rank = 0;
  double limit_seconds = 10;  // silent for longer before its first heartbeat, it is taken for dead
};

// How a rank has registered, and reading it. PeerError when malformed.
std::string to_text(const Peer& peer);
Peer parse_peer(const std::string& text);

// Registers this rank. ConfigError when another process is this rank already: then this one does not belong to the ranks, and
// must say nothing in their name. Rank 0 names the two where it misses a rank.
void announce(StoreClient& client, const Identity& identity, double heartbeat_seconds);

// After announce: waits until all ranks have. Rank 0 looks at the others and tells them. Throws PeerError naming the ranks that
// did not come within `join_seconds`, or with the failure report when one is written meanwhile; ConfigError when there are
// more ranks than the world has, or when some are known by a loopback address and others are not (they could not connect).
void await_all(StoreClient& client, const Identity& identity, double join_seconds);

// Waits until every rank that joined has said that it is done or has failed, at most `seconds`. The rank that hosts the store calls
// it before it lets the store go.
void await_all_done(StoreClient& client, const Identity& identity, double seconds);

// The value of key_of(identity, name) once it is there. Throws PeerError when a failure report comes first, or after
// `seconds`.
std::string await_key(StoreClient& client, const Identity& identity, const std::string& name, double seconds);

// The party that a peer is; without a host where no peer is known.
records::Party party_of(int rank, const Peer& peer);

// Before any group exists, all ranks compare what must be equal, so that no message is ever sent with another size than
// the one that is received.

// Named values in a fixed order: hashes of settings, program, build, data. The fact named "settings" is YAML and
// explains the fact "settings hash": it is compared only when that one differs or is absent, field by field.
struct Facts {
  std::vector<std::pair<std::string, std::string>> values;
};

// Collective. On a difference every rank throws the same ConfigError naming the fact or field, the rank and both
// values. `round` tells several agreements of one attempt apart. Throws PeerError when a rank does not answer within
// `seconds`.
void agree(StoreClient& client, const Identity& identity, const std::string& round, const Facts& mine, double seconds);

// Empty when equal, else a sentence part: "optimizer.lr = 0.1 on rank 2 but 0.2 on rank 0".
base::Text difference(const Facts& first, const Facts& mine, int rank);

}  // namespace troika::rendezvous
