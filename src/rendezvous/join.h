// Joining and leaving: every rank registers, sees all others, and hears of a failure while it waits.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct Peer {
  std::string host;     // the host's name
  std::string address;  // how peers reach it
  int pid = 0;
  int node_rank = 0;
};

// Registers this rank, waits for all others and returns them, index = world rank. Throws PeerError naming the ranks
// that did not come within `join_seconds`, or with the failure report when one is written meanwhile; ConfigError when two
// processes say that they are the same rank, or when some ranks are known by a loopback address and others are not
// (they could not connect).
std::vector<Peer> await_all(StoreClient& client, const Identity& identity, double join_seconds);

// Waits until every rank has said that it is done or has failed, at most `seconds`. The rank that hosts the store calls
// it before it lets the store go.
void await_all_done(StoreClient& client, const Identity& identity, double seconds);

// The value of key_of(identity, name) once it is there. Throws PeerError when a failure report comes first, or after
// `seconds`.
std::string await_key(StoreClient& client, const Identity& identity, const std::string& name, double seconds);

// "rank 2 (host pi3, pid 123)" when it has registered, else "rank 2".
std::string describe_rank(StoreClient& client, const Identity& identity, int rank);

}  // namespace troika::rendezvous
