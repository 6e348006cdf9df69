// A rank's meeting with the others: store, join, heartbeats, agreement, groups. Alone it is all empty.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/flight_log.h"
#include "comm/nccl_channel.h"
#include "comm/rank_channels.h"
#include "comm/traffic.h"
#include "config/settings.h"
#include "mesh/mesh.h"
#include "rendezvous/agreement.h"
#include "rendezvous/heartbeat.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"
#include "tensor/streams.h"
#include "train/whereabouts.h"

namespace troika::train {

// One per process. Threads: the rank's thread; a failure report ends waits on the channels from the heartbeat's thread.
class Session {
 public:
  // `on_notice` is called from another thread with each notice of ranks that are behind or slow, or whose save stands; it must
  // not wait.
  Session(const rendezvous::Identity& identity, const config::CommSettings& settings,
          std::function<void(const records::Incident& notice)> on_notice = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Collective: returns when all ranks have come. PeerError names those that did not.
  void join();

  // Collective. ConfigError on every rank when a fact differs between ranks. `what` names the facts, once per run.
  void agree(const std::string& what, const rendezvous::Facts& facts);

  // Collective, before there are groups: rank 0 makes the text, all return it. `what` names it, once in a run.
  std::string broadcast_text(const std::string& what, const std::function<std::string()>& text);

  // Collective, before there are groups: every rank gives a text, all return those of all by rank. `what` names it, once
  // in a run.
  std::vector<std::string> all_gather_text(const std::string& what, const std::string& mine);

  // Collective: builds the group of all ranks, unless it is there.
  void connect_world();
  // Collective: builds the groups of this rank, that of all ranks too. With `streams`, of its device, tensors on devices go over NCCL.
  void connect(const mesh::Shape& shape, std::shared_ptr<tensor::Streams> streams);
  // Collective, after connect(): the group of those that write checkpoints; a session that saves nothing has none.
  void connect_savers();
  comm::RankChannels& channels() { return channels_; }

  // Where this rank is, for its heartbeat; also of a rank that is alone.
  Whereabouts& whereabouts() { return *whereabouts_; }
  void at(std::int64_t step, records::Activity activity) { whereabouts_->at(step, activity); }

  // Where this rank is, whom it waits for, who is behind as far as it has heard, and its last messages. From any thread.
  std::string status() const;

  // From now on also called with each notice; {}: not any more, and none is under way. As `on_notice`, it must not wait.
  void also_tell(std::function<void(const records::Incident& notice)> listener);

  // What this rank has sent to and received from others on all its channels.
  std::shared_ptr<const comm::Traffic> traffic() const { return traffic_; }

  // Puts a text where the host of the store reads it, over a connection of its own. From any thread; takes at most about 2 s, and
  // a store that is gone is no error.
  void publish(const std::string& name, const std::string& text) const;

  // Ends well: all ranks have come this far before any connection closes.
  void finish();
  // Ends with an error of this rank.
  struct Cause {
    std::string
        failure;  // the first cause, when another rank failed first or this one was found to have failed; else empty
    bool launcher_tells = false;  // our launcher has heard this error, or its cause, and shows it
  };
  Cause fail(const rendezvous::FailureReport& own);

  // What a rank says that leaves at once because it was asked to, so that the others end with it (exit code 130). From any
  // thread; takes at most about 2 s.
  void leave(const std::string& why) const;

  std::string last_operations() const;

 private:
  // The channel of a group; `edges`: what its messages between devices use, null: it has none.
  std::unique_ptr<comm::Channel> open(const std::string& name, const std::vector<int>& ranks,
                                      const comm::NcclEdges* edges, std::shared_ptr<comm::WaitMark> mark);

  std::unique_ptr<comm::Channel> between_hosts(const std::string& name, const std::vector<int>& ranks);
  void connect_memory();
  // Collective over the world: the texts of those ranks that gave the same `group`, by world rank.
  std::map<int, std::string> gather_among(const std::string& what, const std::string& group, const std::string& mine);

  rendezvous::Heartbeats heartbeats();
  void hear(const records::Incident& notice);
  void watch_own_saves();

  struct Links;  // what outlives the channels
  const rendezvous::Identity identity_;
  const config::CommSettings settings_;
  const std::function<void(const records::Incident&)> on_notice_;
  const std::unique_ptr<Whereabouts> whereabouts_;  // outlives the heartbeat in links_
  const std::shared_ptr<comm::Traffic> traffic_;
  std::unique_ptr<Links> links_;
  comm::RankChannels channels_;
};

}  // namespace troika::train
