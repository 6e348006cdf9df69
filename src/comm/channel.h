// A channel moves bytes between the ranks of one group and sums integers exactly. Every backend implements send and recv;
// the collectives in collectives.h are built on them once, in a fixed order.
//
// Contract for all backends: messages carry a tag; a recv matches the send of the same (peer, tag) in posting order; sizes
// must agree (a mismatch is a PeerError naming both, wherever the backend can tell). A send need not complete before the peer
// has posted its recv: post early, wait late. Tensors are contiguous, any dtype, any device the backend supports, and move as
// bytes. No call blocks except Transfer::wait(). After one wait has failed, the channel has failed for this rank: every later
// wait throws at once.
// Threads: one rank's thread uses a channel; abort() may come from any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace troika::comm {

// Tags from here on belong to the collectives; callers of send and recv stay below `tag_limit`. (Gloo has 31 bits.)
inline constexpr std::uint32_t first_collective_tag = 0x80000000;
inline constexpr std::uint32_t tag_limit = 0x7fffff00;

// A message under way. Owns the tensor until it is done. Destroying one that is not done waits for it, or, after an abort or
// while an exception passes, drops it.
class Transfer {
 public:
  class Body {  // implemented by each backend
   public:
    virtual ~Body() = default;
    virtual void wait() = 0;  // returns when the data may be read (recv) or overwritten (send); PeerError on failure
  };
  Transfer() = default;  // already done
  explicit Transfer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
  Transfer(Transfer&&) noexcept = default;
  Transfer& operator=(Transfer&&) noexcept = default;

  // Throws PeerError naming operation, peer and cause when the peer died, the deadline passed or the channel was aborted.
  void wait() {
    if (body_ == nullptr) return;
    const auto body = std::move(body_);
    body->wait();
  }
  bool pending() const { return body_ != nullptr; }

 private:
  std::unique_ptr<Body> body_;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name() const = 0;  // "world", "dp0", "pp1": for messages and the flight log
  virtual Transfer send(const at::Tensor& tensor, int to, std::uint32_t tag) = 0;
  virtual Transfer recv(const at::Tensor& tensor, int from, std::uint32_t tag) = 0;
  // Ends every wait, now and later, with PeerError(`reason`). Used when the heartbeat client learns that a peer is dead.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace troika::comm
