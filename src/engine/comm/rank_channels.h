// The channels of one rank, one for each group that it is in, and what they are made of: messages over TCP, over memory of the host,
// or over two backends, and the log of what was sent last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "comm/traffic.h"
#include "comm/wait_mark.h"
#include "rendezvous/identity.h"

namespace troika::comm {

// Each for this rank's thread, but `saving`: all ranks, for whoever writes checkpoints beside training; null where nothing is saved.
// replicas: the ranks with the same parameters (mesh/mesh.h).
struct RankChannels {
  std::unique_ptr<Channel> world, pp, tp, cp, replicas, saving;
};

// Collective: Channel::prove_order of all groups that a program uses.
inline void prove_order(const RankChannels& channels) {
  for (const auto* channel : {&channels.pp, &channels.tp, &channels.cp, &channels.replicas})
    (*channel)->prove_order(*channels.world);
}

// Some peers are reached over one backend, the others over another. Both are of one group. `is_near`: whether a rank of the group is
// reached over the first; alike at both ends.
std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near);

// Tensors in host memory go over one backend, tensors on a device over another. Both are of one group. Messages of the
// two never meet each other.
std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device);

// The last operations of a rank on all its channels, kept for the moment something fails: a ring of fixed size. Threads: every call
// from any thread.
class FlightLog {
 public:
  enum class State { posted, done, failed };

  explicit FlightLog(std::size_t capacity) : entries_(capacity) {}  // above 0

  // Returns the number by which end() finds the entry, if it is still there. `line`: its sentence, of number, age, group, peer, tag,
  // bytes and end.
  std::uint64_t begin(const std::string& group, base::Phrase line, int peer, std::uint32_t tag, std::int64_t bytes);
  void end(std::uint64_t number, State state);

  // "last operations of rank 1:" and a line for each, oldest first: how long ago it was posted, and how it ended.
  base::Text report(int rank) const;

 private:
  struct Entry {
    double posted_at = 0;
    std::string group;
    std::optional<base::Phrase> line;
    int peer = 0;
    std::uint32_t tag = 0;
    std::int64_t bytes = 0;
    State state = State::posted;
    double ended_at = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t count_ = 0;
};

// The same channel with every send and recv written to the log, every wait marked, and all of it counted; `mark` and `traffic` may be
// null. `world_ranks`: of the channel's group, in its order.
std::unique_ptr<Channel> logged(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log,
                                std::shared_ptr<WaitMark> mark = nullptr, std::shared_ptr<Traffic> traffic = nullptr,
                                std::vector<int> world_ranks = {});

struct MemorySettings {
  double wait_seconds = 120;  // as TcpSettings
  double spin_seconds = 0;    // how long a wait looks before it sleeps; worth it where every rank has a core
};

class MemoryLinks;

// Channels between ranks of one host over their memory: the sender posts a description to the receiver's mailbox
// (mailbox.h), and the receiver copies the bytes from the sender's memory, once; small messages are part of the
// description. There is no extra thread: messages move while a rank waits, and nothing moves before its receive is
// posted. Waiting ranks sleep.
// One per rank, of its thread, but for abort(). Outlived by its channels.
class MemoryTransport {
 public:
  // Called alike by all ranks of a memory_neighbourhood (mailbox.h): each gives a text, and gets those of all by world rank.
  // `what` names it, once.
  using GatherTexts = std::function<std::map<int, std::string>(const std::string& what, const std::string& mine)>;

  // Collective over the ranks of the neighbourhood: finds out who can reach whom. Where memory is not to be had it reaches
  // nobody; that is no error.
  MemoryTransport(int world_rank, const GatherTexts& gather_texts, const MemorySettings& settings);

  // Alike at both ends.
  bool reaches(int world_rank) const;
  bool reaches_all(const std::vector<int>& world_ranks) const;  // but itself
  int neighbours() const;                                       // how many it reaches
  bool reaches_any(const std::vector<int>& world_ranks) const;  // likewise

  // As TcpTransport::group, but not collective. BugError for messages to ranks that it does not reach.
  std::unique_ptr<Channel> group(const std::string& name, const std::vector<int>& world_ranks);

 private:
  const std::shared_ptr<MemoryLinks> links_;
  std::map<std::string, int> built_;  // groups by name, so that no two are one channel
};

struct TcpSettings {
  std::string interface;         // network interface by name; empty: the local address of a connection to the store
  double connect_seconds = 120;  // building a group
  // A wait that takes longer is an error. Infinite: it lasts until the message comes, the connection breaks or abort(), for
  // ranks whose heartbeats tell when one of them has failed or waits.
  double wait_seconds = 120;
};

// Channels over TCP: between processes and hosts, CPU memory (tensors on other devices are staged through it). A connection for each pair
// of ranks of a group, made when the group is built; each side of it has shown that it is of this launch (tcp_greeting.h).
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

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::comm
