// Channels over TCP: between processes and hosts, CPU memory (tensors on other devices are staged through it). A connection for each pair
// of ranks of a group, made when the group is built; each side of it has shown that it is of this launch (tcp_greeting.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "rendezvous/identity.h"

namespace troika::comm {

struct TcpSettings {
  std::string interface;         // network interface by name; empty: the local address of a connection to the store
  double connect_seconds = 120;  // building a group
  // A wait that takes longer is an error. Infinite: it lasts until the message comes, the connection breaks or abort(), for
  // ranks whose heartbeats tell when one of them has failed or waits.
  double wait_seconds = 120;
};

// One per process (or per rank, when ranks are threads): one listening socket and one thread serve all groups.
class TcpTransport {
 public:
  // Connects to the store that `identity` names. Throws PeerError, or ConfigError when the interface is unknown.
  TcpTransport(const rendezvous::Identity& identity, const TcpSettings& settings);
  ~TcpTransport();
  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  // Collective among `world_ranks` (this rank must be one of them; same order everywhere): connects every pair. The rank in
  // the channel is the index in the list. Each rank builds its groups in one global order; a name may come again, for another
  // group. The channel outlives the transport. Before channels of a run that ended well are destroyed, the ranks need a barrier:
  // destroying closes the connections. Throws PeerError: with the failure report when one is written meanwhile.
  std::unique_ptr<Channel> group(const std::string& name, const std::vector<int>& world_ranks);

  std::string address() const;  // the local address peers connect to, or the interface's name

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::comm
