// Messages of one kind between the same ranks, in one order: those from one rank to another, or the exchanges of a
// group. Each link has its own lane and communicator, so a message that waits for its peer delays only those
// behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "comm/failure.h"
#include "comm/nccl_communicator.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::comm {

// An operation of the link. Owns its tensors until the device has passed `done`, or until the compute lane waits for
// that.
struct LinkTask {
  Operation operation;
  std::vector<tensor::Tensor> tensors;
  Communicator::Call call;
  tensor::Event ready;  // of the compute lane: from here on the tensors may be read or written
  tensor::Event done;   // of the link's lane; set once `launched`
  double posted_at = 0;
  enum class State { queued, launching, launched, awaited } state = State::queued;
};
using LinkTaskPtr = std::shared_ptr<LinkTask>;

// What every message of a link did, in posting order: count, and a hash over tags and sizes.
struct LinkOrder {
  std::int64_t messages = 0;
  std::uint64_t digest = 0xcbf29ce484222325;
  void include(const Operation& operation);
};

// The rank's thread.
class Link {
 public:
  // Returns the communicator once its ranks have met, null before; asked again and again.
  using Meet = std::function<std::shared_ptr<Communicator>()>;
  Link(tensor::Streams& streams, Meet meet);

  void add(LinkTaskPtr task);  // behind all others; one without bytes does not travel
  // Takes the next steps that are possible without waiting: meeting, connecting, launching. Errors: failed().
  void progress();
  // The same, and when the link has carried a message before, it waits until all are in the lane: that does not depend
  // on the peer and takes microseconds, for which it spins.
  void launch();
  bool settled() const { return queued_.empty() && launching_ == nullptr; }  // nothing is left for progress()

  LinkTaskPtr oldest();  // that the device has not passed; null: none
  // Why the link is dead, with the message that it may have been; false while it lives.
  bool failed(base::Text* failure, Operation* operation);
  const LinkOrder& order() const { return order_; }
  void* stream() { return streams_.handle(lane_); }  // for the task's call

 private:
  bool take_a_step();

  tensor::Streams& streams_;
  const tensor::Lane lane_;
  const Meet meet_;
  std::shared_ptr<Communicator> communicator_;
  std::deque<LinkTaskPtr> queued_, under_way_;
  LinkTaskPtr launching_;
  bool connected_ = false;
  Operation last_;
  LinkOrder order_;
  base::Text failure_;
};

}  // namespace troika::comm
