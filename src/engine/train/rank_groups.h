// The groups of a rank: who its channels reach and over what, opened once the ranks have agreed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/nccl_channel.h"
#include "comm/rank_channels.h"
#include "comm/store_collectives.h"
#include "comm/traffic.h"
#include "config/settings/settings.h"
#include "mesh/mesh.h"
#include "rendezvous/identity.h"
#include "tensor/streams.h"
#include "train/rank_activity.h"

namespace troika::train {

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
  std::string last_operations() const;

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

}  // namespace troika::train
