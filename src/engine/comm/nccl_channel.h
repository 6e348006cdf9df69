// Channels over NCCL, between the devices of the ranks, without a copy in host memory and without a thread that waits.
//
// An ordered backend (channel.h): NCCL has no tags and pairs by order, so on each directed edge, from one rank to
// another for one class of messages, the recvs must be posted in the order of the sends. Sizes must agree too. The
// checker of step programs sees to both; prove_order() compares what really happened, after the first step of a run. A
// program that breaks the rule receives another message's bytes, or hangs.
//
// Each directed edge has a lane and a communicator of two ranks, made when both sides have used it first; they meet at
// the rendezvous store. Until then messages are kept on the host: they move on whenever a channel of the transport is
// called, and Transfer::wait() waits there. After that it only orders the compute lane behind the message. connect()
// does this before the first step; without it the first message of an edge must be waited for before the thread waits
// for something outside the transport that depends on it.
//
// The exchanges of a group go through one lane and one communicator of all its ranks, in the order in which they are
// asked for. A device runs CUDA_DEVICE_MAX_CONNECTIONS lanes side by side, 8 by default and 32 at
// most; lanes beyond that share queues and may block each other for ever. The thread blocks of all messages
// in flight and of the work they wait for must fit on the device: NcclCtas.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "comm/nccl_api.h"
#include "rendezvous/identity.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::comm {

// Thread blocks of one operation; 0: as many as NCCL likes. Each keeps a multiprocessor busy while the peer is awaited, and
// recvs are posted early.
struct NcclCtas {
  int message = 4, exchange = 16;
};

struct NcclSettings {
  std::string library = nccl::usual_library;
  double timeout_seconds = 120;  // from the posting of a message to its end on the device
  NcclCtas ctas;
  double connect_seconds = 120;  // to the store
  double abort_seconds = 2;      // a failed transport waits so long for NCCL to let go of the device
};

class NcclGroup;  // what a channel and its transfers share

// Contract: channel.h. Failures of what is under way are told by check(), and by wait() as far as they are known by
// then. When one channel of a transport fails, is aborted, or is destroyed while something is under way, all of them
// fail, and the thread that meets it waits for up to NcclSettings::abort_seconds. Destroying the channel tells the peers
// through the store that this rank has left.
class NcclChannel final : public Channel {
 public:
  explicit NcclChannel(std::shared_ptr<NcclGroup> group);
  ~NcclChannel() override;

  int rank() const override;
  int size() const override;
  const std::string& name() const override;
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override;
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override;
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override;
  // These two are passed on along NCCL's rings, which cross the border of a host once.
  std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override;
  Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override;
  void check() override;
  void prove_order(Channel& world) override;
  void abort(const base::Text& reason) override;

 private:
  std::shared_ptr<NcclGroup> group_;
};

// One per rank's device.
class NcclTransport {
 public:
  // Loads the library and connects to the store that `identity` names, by the thread that will use the channels. Throws
  // ConfigError (nccl_api.h) or PeerError.
  NcclTransport(const rendezvous::Identity& identity, const NcclSettings& settings,
                std::shared_ptr<tensor::Streams> streams);
  ~NcclTransport();
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  // The channel of `world_ranks` (two or more; this rank is one of them; same order everywhere) for the thread that
  // calls. Does not wait for the others. Each rank builds its groups in one global order. The channel outlives the
  // transport. Before channels of a run that ended well are destroyed, the ranks need a barrier behind their last
  // results.
  std::unique_ptr<NcclChannel> group(const std::string& name, const std::vector<int>& world_ranks);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

enum class Exchanges { no, yes };
struct NcclEdge {
  int peer = 0;                     // rank in the group
  std::uint32_t message_class = 0;  // comm::message_class, below 4
};
struct NcclEdges {  // of one rank, and whether the group makes exchanges
  std::vector<NcclEdge> to, from;
  Exchanges exchanges = Exchanges::no;
};

// Sends a byte on every edge that is named. All ranks call it, with what their programs use; returns when it is
// connected.
void connect(NcclChannel& channel, const NcclEdges& edges, const tensor::Device& device);

}  // namespace troika::comm
