// Messages of one kind between the same ranks, in one order: those from one rank to another, or the exchanges of a
// group. Each link has its own lane and communicator, so a message that waits for its peer delays only those
// behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/language.h"
#include "comm/failure.h"
#include "comm/nccl_api.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::comm {

// How many ranks it has and which of them this one is.
struct GroupRank {
  int rank = 0;
  int size = 2;
};

// One rank's end of an NCCL communicator that never blocks its thread: NCCL's non-blocking mode.
//
// In blocking mode the first operation with a peer holds the thread until the peer asks for its own, initialisation
// does too, and neither has a time limit or can be aborted. Two ranks that both send first would hold each other.
// Used by the rank's thread; abort may come from any thread. NCCL wants calls on one communicator one at a time: a
// lock sees to that, and no call under it waits for a peer.
class Communicator {
 public:
  enum class State {
    idle,    // the last operation has been put into its stream; the next may be asked for
    busy,    // NCCL is still connecting, or putting the operation into its stream
    failed,  // for good
  };
  using Call = std::function<nccl::Result(const nccl::Api&, nccl::Comm*)>;

  // Begins the initialisation: busy until all ranks have begun theirs. `max_ctas`: thread blocks of an operation, 0: as
  // NCCL likes.
  Communicator(std::shared_ptr<const nccl::Api> api, const nccl::UniqueId& id, GroupRank member, int max_ctas);
  ~Communicator();  // aborts it alone, unless abort or destroy() came before
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  State state(base::Text* failure);  // `failure` is set when failed
  void ask(const Call& call);        // one operation; only when idle. How it went, state() tells.
  void destroy();                    // only when everything has been done, on the other ranks too

  // Ends what is under way on this rank, as one group of calls: NCCL waits for the device before it takes a communicator apart,
  // and the device may be at a message of another one that is still to be aborted. Returns when NCCL has done it, and after
  // `seconds` at the latest: then the thread that called NCCL is left behind, and the process has only its last words to say.
  static void abort(const std::vector<std::shared_ptr<Communicator>>& communicators, double seconds);

 private:
  nccl::Comm* take(const base::Text& why);  // null: it was taken before
  void note(nccl::Result result);           // under the lock

  const std::shared_ptr<const nccl::Api> api_;
  std::mutex mutex_;            // guards what follows
  nccl::Comm* comm_ = nullptr;  // null once aborted
  base::Text failure_;
};

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

// The record of every message of a link, in posting order: count, and a hash over tags and sizes.
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
