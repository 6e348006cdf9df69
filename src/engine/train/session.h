// A rank's meeting with the others: store, join, heartbeats, agreement, groups. Alone it is all empty.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/nccl_channel.h"
#include "comm/rank_channels.h"
#include "comm/store_collectives.h"
#include "comm/traffic.h"
#include "config/settings/settings.h"
#include "mesh/mesh.h"
#include "records/incident.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"
#include "tensor/streams.h"
#include "train/rank_activity.h"

namespace troika::train {

// The notices a rank hears of others that are behind or slow. Threads: any. Listeners must not wait.
class Notices {
 public:
  using Listener = std::function<void(const records::Incident& notice)>;
  explicit Notices(Listener first) : first_(std::move(first)) {}  // may be empty

  void hear(const records::Incident& notice);
  // From now on also called with each notice; {}: not any more, and none is under way.
  void also_tell(Listener listener);
  base::Text last() const;  // empty: nothing was heard

 private:
  const Listener first_;
  mutable std::mutex mutex_;  // guards the next
  base::Text last_;
  std::mutex listening_;  // guards the next
  Listener second_;
};

// The groups of a rank: who its channels reach and over what, opened once the ranks have agreed.
// Threads: the rank's; abort() and last_operations() from any. `rank_activity` outlives it.
class RankGroups {
 public:
  RankGroups(const rendezvous::Identity& identity, const config::CommSettings& settings,
             const RankActivity& rank_activity);
  ~RankGroups();

  // Collective: builds the group of all ranks, unless it is there.
  void connect_world(const comm::StoreCollectives& store);
  // Collective: builds the groups of this rank, that of all ranks too. With `streams`, of its device, tensors on devices go over NCCL.
  void connect(const mesh::Shape& shape, std::shared_ptr<tensor::Streams> streams, const comm::StoreCollectives& store);
  // Collective, after connect(): the group of those that write checkpoints; who saves nothing has none.
  void connect_savers();

  comm::RankChannels& channels() { return channels_; }
  // The traffic of this rank with others on all its channels, sent and received.
  std::shared_ptr<const comm::Traffic> traffic() const { return traffic_; }
  base::Text last_operations() const;

  // Ends waits on all channels, and on those that are opened later.
  void abort(const base::Text& text);

 private:
  // The channel of a group; `edges`: what its messages between devices use, null: it has none.
  std::unique_ptr<comm::Channel> open(const std::string& name, const std::vector<int>& ranks,
                                      const comm::NcclEdges* edges, std::shared_ptr<comm::WaitMark> mark);
  std::unique_ptr<comm::Channel> between_hosts(const std::string& name, const std::vector<int>& ranks);
  void connect_memory(const comm::StoreCollectives& store);
  void opened(comm::Channel& channel);

  const rendezvous::Identity identity_;
  const config::CommSettings settings_;
  const RankActivity& rank_activity_;
  const std::shared_ptr<comm::Traffic> traffic_;
  const std::shared_ptr<comm::FlightLog> flights_ = std::make_shared<comm::FlightLog>(64);
  std::unique_ptr<comm::TcpTransport> transport_;
  std::unique_ptr<comm::MemoryTransport> memory_;  // null: not used
  std::shared_ptr<tensor::Streams> streams_;       // null: tensors on devices pass through host memory
  std::unique_ptr<comm::NcclTransport> nccl_;

  std::mutex mutex_;  // guards the next two
  std::vector<comm::Channel*> open_;
  base::Text failure_;

  comm::RankChannels channels_;  // last: they use the members above
};

// How a rank that ends badly tells the others, and learns whether another one failed first.
struct FailureCause {
  // The first cause, when another rank failed first or this one was found to have failed; else empty.
  base::Text failure;
  bool launcher_tells = false;  // our launcher has heard this error, or its cause, and shows it
};

// One per process. Threads: the rank's thread; a failure report ends waits on the channels from the heartbeat's thread.
class Session {
 public:
  // `on_notice` is called from another thread with each notice of ranks that are behind or slow, or whose save is stuck; it must
  // not wait.
  Session(const rendezvous::Identity& identity, const config::CommSettings& settings,
          Notices::Listener on_notice = {});
  ~Session();

  // Collective: returns when all ranks have come. PeerError names those that did not.
  void join();

  // Collective. ConfigError on every rank when a fact differs between ranks. `what` names the facts, once per run.
  void agree(const std::string& what, const rendezvous::Facts& facts);

  // The messages between ranks before there are groups, after join().
  const comm::StoreCollectives& collectives() const { return *collectives_; }

  // The rank's groups: all collective, see RankGroups.
  void connect_world() { groups_.connect_world(*collectives_); }
  void connect(const mesh::Shape& shape, std::shared_ptr<tensor::Streams> streams) {
    groups_.connect(shape, std::move(streams), *collectives_);
  }
  void connect_savers() { groups_.connect_savers(); }
  comm::RankChannels& channels() { return groups_.channels(); }
  std::shared_ptr<const comm::Traffic> traffic() const { return groups_.traffic(); }
  base::Text last_operations() const { return groups_.last_operations(); }

  // Where this rank is, for its heartbeat; also of a rank that is alone.
  RankActivity& rank_activity() { return *rank_activity_; }
  void at(std::int64_t step, records::Activity activity) { rank_activity_->at(step, activity); }

  // Where this rank is, whom it waits for, who is behind as far as it has heard, and its last messages. From any thread.
  base::Text status() const;

  // As Notices::also_tell.
  void also_tell(Notices::Listener listener) { notices_.also_tell(std::move(listener)); }

  // Puts a text where the host of the store reads it, over a connection of its own. From any thread; takes at most about 2 s, and
  // a store that is gone is no error.
  void publish(const std::string& name, const std::string& text) const;

  // Ends well: all ranks have come this far before any connection closes.
  void finish();
  // Ends with an error of this rank; says nothing before join() has made this process its rank. Takes some seconds at most.
  FailureCause fail(const rendezvous::FailureReport& own);
  // The notice of a rank that leaves at once because it was asked to: the others end with it (exit code 130), likewise. From any
  // thread; takes at most about 2 s.
  void leave(const base::Text& why) const;

 private:
  rendezvous::Heartbeats heartbeats();

  struct Links;  // to the store
  const rendezvous::Identity identity_;
  const config::CommSettings settings_;
  const std::unique_ptr<RankActivity> rank_activity_;  // outlives what tells of it
  Notices notices_;
  const std::unique_ptr<Links> links_;
  RankGroups groups_;
  std::optional<comm::StoreCollectives> collectives_;
};

}  // namespace troika::train
