// One rank's side of a group over NCCL: its links, how their ends meet at the store, and why it has failed. What the
// channel and its transfers share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/nccl_channel.h"
#include "comm/nccl_link.h"
#include "rendezvous/store.h"
#include "tensor/tensor.h"

namespace troika::comm {

// The groups of one rank. Wherever one of them is waited for, all move on: a peer may wait for another one first. When one fails,
// all do (Communicator::abort). The rank's thread; end() from any.
class NcclGroups {
 public:
  explicit NcclGroups(double abort_seconds) : abort_seconds_(abort_seconds) {}
  void add(const std::shared_ptr<NcclGroup>& group) { open_.push_back(group); }
  void progress();
  bool idle();  // nothing is under way

  void keep(const NcclGroup* owner, const std::shared_ptr<Communicator>& communicator);  // aborts it after end()
  std::vector<std::shared_ptr<Communicator>> take(const NcclGroup* owner);

  base::Text end(const base::Text& reason);  // aborts; returns why they had already ended, or nothing
  base::Text why_failed();

 private:
  std::vector<std::weak_ptr<NcclGroup>> open_;
  const double abort_seconds_;
  std::mutex
      aborting_;  // who comes second waits: until the first has done, the device may use memory that he would free

  std::mutex mutex_;    // guards what follows
  base::Text failure_;  // why every wait ends; empty while none does
  std::map<const NcclGroup*, std::vector<std::shared_ptr<Communicator>>> communicators_;
};

// The parts of a group.
struct NcclGroupParts {
  std::shared_ptr<NcclGroups> all;
  std::string name;
  std::vector<int> world_ranks;
  int rank = 0;  // in the group
  NcclSettings settings;
  rendezvous::Identity identity;
  std::string key_prefix;  // of this group alone
  std::shared_ptr<const nccl::Api> api;
  std::shared_ptr<rendezvous::StoreClient> store;
  std::shared_ptr<tensor::Streams> streams;
};

// The rank's thread.
class NcclGroup : public NcclGroupParts {
 public:
  struct Edge {
    int peer = 0;  // rank in the group; of exchanges this rank's own
    Direction direction = Direction::send;
    std::uint32_t message_class = 0;  // comm::message_class; of exchanges 0
    bool operator<(const Edge& other) const {
      return std::tie(peer, direction, message_class) < std::tie(other.peer, other.direction, other.message_class);
    }
  };

  explicit NcclGroup(NcclGroupParts parts) : NcclGroupParts(std::move(parts)) {}

  Link& link(Edge edge);
  LinkOrder order(int peer, Direction direction) const;  // of all classes
  // The operation's place in the link's order. Never waits for a peer.
  LinkTaskPtr post(Edge edge, const Operation& operation, std::vector<tensor::Tensor> tensors, Communicator::Call call);
  void progress();  // of what is not in its lane yet
  bool idle();      // nothing is under way

  void check();            // comm::Channel::check
  void check(Link& link);  // only what NCCL tells of it; does not ask the device
  [[noreturn]] void fail(const Operation& operation, const base::Text& cause);
  base::Text why_failed();
  void close();

  int world_rank(int member) const { return world_ranks[static_cast<std::size_t>(member)]; }

 private:
  std::string key(const std::string& what) const { return rendezvous::key_of(identity, key_prefix + what); }
  Link::Meet meeting(Edge edge);
  bool exchange_id(const std::string& at, const GroupRank& member, nccl::UniqueId* id);
  std::shared_ptr<Communicator> open(const nccl::UniqueId& id, const GroupRank& member, int max_ctas);
  void check(const LinkTask& oldest);
  base::Text who_left();
  void leave(const base::Text& why);

  std::map<Edge, std::unique_ptr<Link>> links_;
  double looked_at_ = 0;  // at the store
  bool closed_ = false;
};

}  // namespace troika::comm
