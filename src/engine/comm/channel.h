// A channel moves bytes between the ranks of one group and sums integers exactly. Every backend implements send and
// recv; the collectives in collectives.h are built on them once, in a fixed order.
//
// Contract for all backends: messages carry a tag; a recv matches the send of the same (peer, tag) in posting order;
// sizes must agree (a mismatch is a PeerError naming both, wherever the backend can tell). A send need not complete
// before the peer has posted its recv: post early, wait late. Tensors are contiguous, any dtype, any device the backend
// supports, and move as bytes. No call blocks except Transfer::wait(). After one wait has failed, the channel has
// failed for this rank: every later wait throws at once.
//
// An ordered backend (NCCL) looks only at a tag's class (message_class): between two ranks the recvs of a class must be
// posted in the order of the sends of that direction. Programs that are to run over any backend keep to that.
//
// A device executes queued work and messages later. There wait() orders instead of waiting: work that is queued from
// then on runs after the message. Code that then waits for results of the device calls check() meanwhile
// (tensor::await), which throws for messages that never end. On a CPU wait() returns when the message has ended.
//
// Threads: one rank's thread uses a channel; abort() may come from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "tensor/tensor.h"

namespace troika::comm {

// Tags from here on belong to the collectives; callers of send and recv stay below `tag_limit`.
inline constexpr std::uint32_t first_collective_tag = 0x80000000;
inline constexpr std::uint32_t tag_limit = 0x7fffff00;

// Messages of one class go from one rank to another in one order.
inline constexpr std::uint32_t message_class(std::uint32_t tag) { return tag >> 29; }

// A message under way. Owns the tensor until wait() returns. Destroying one that was not waited for does so, or, after
// an abort or while an exception passes, drops it.
class Transfer {
 public:
  class Body {  // implemented by each backend
   public:
    virtual ~Body() = default;
    // Returns when what is asked of the tensor's device from now on may read (recv) or overwrite (send) the data; on a
    // CPU that is now. PeerError on failure.
    virtual void wait() = 0;
  };
  Transfer() = default;  // already done
  explicit Transfer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
  Transfer(Transfer&&) noexcept = default;
  Transfer& operator=(Transfer&&) noexcept = default;

  // Throws PeerError naming operation, peer and cause: the peer died, or the channel was aborted.
  void wait() {
    if (body_ == nullptr) return;
    const auto body = std::move(body_);
    body->wait();
  }
  bool pending() const { return body_ != nullptr; }

 private:
  std::unique_ptr<Body> body_;
};

// One of the messages of an exchange.
struct Message {
  tensor::Tensor tensor;
  int peer = 0;
  std::uint32_t tag = 0;
};

// Those by which every rank gives its part to all others, without the empty ones. Each rank begins with its neighbours,
// so that not all send to rank 0 at once.
struct GatherMessages {
  GatherMessages(const std::vector<tensor::Tensor>& parts, int rank, std::uint32_t tag);
  std::vector<Message> in, out;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // "world", "dp0", "pp1": for messages and the flight log
  virtual Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) = 0;
  virtual Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) = 0;
  // This rank's part of messages that many ranks of the group pass to each other at once: receives `in`, sends `out`.
  // Returns the transfers of `in`, then of `out`. Ranks make their exchanges in one order; a message meets one of the
  // same exchange, never a send or recv. A backend may move all of one rank's at once, so that each is done when all are.
  virtual std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) {
    std::vector<Transfer> transfers;
    for (const Message& message : in) transfers.push_back(recv(message.tensor, message.peer, message.tag));
    for (const Message& message : out) transfers.push_back(send(message.tensor, message.peer, message.tag));
    return transfers;
  }
  // This rank's part, parts[rank()], to all others, and theirs into the other parts, whose sizes all ranks know. In one
  // order with exchanges; returns the transfers of the GatherMessages. A backend may hand parts on from rank to rank, so
  // that a link between hosts carries each once.
  virtual std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) {
    const GatherMessages messages(parts, rank(), tag);
    return exchange(messages.in, messages.out);
  }
  // Flat tensors of int64 or fp32, parts[r] this rank's share of what rank r is to have; the sum of all ranks' shares of parts[rank()],
  // modulo 2^64 or in any order, is there once the transfer is done, and the other parts are read until then. In one order with
  // exchanges. A backend may add on the way, so that a link between hosts carries each sum once.
  virtual Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag);
  // Throws PeerError when the channel has failed: the oldest message that is not done is older than the deadline, or a
  // peer or the library told of an error, or after an abort. Does not wait. Where wait() waits it tells, and this does
  // nothing.
  virtual void check() {}
  // Collective over `world`, a channel of all ranks over host memory: an ordered backend proves that on every edge as
  // many recvs as sends have been posted, in one order of tags and sizes. BugError that names the edge otherwise. For a
  // moment when that must hold: the end of a step. Other backends do nothing.
  virtual void prove_order(Channel& /*world*/) {}
  // Ends every wait, now and later, with PeerError(`reason`): the heartbeat client has learnt that a peer is dead.
  virtual void abort(const base::Text& reason) = 0;
};

// The channel of a group of one. Any send or recv is a BugError.
std::unique_ptr<Channel> make_self_channel(const std::string& name);

}  // namespace troika::comm
