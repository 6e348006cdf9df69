// One rank's end of an NCCL communicator that never blocks its thread: NCCL's non-blocking mode.
//
// In blocking mode the first operation with a peer holds the thread until the peer asks for its own, initialisation
// does too, and neither has a time limit or can be aborted. Two ranks that both send first would hold each other.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/language.h"
#include "comm/nccl_api.h"

namespace troika::comm {

// How many ranks it has and which of them this one is.
struct Seat {
  int rank = 0;
  int size = 2;
};

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
  Communicator(std::shared_ptr<const nccl::Api> api, const nccl::UniqueId& id, Seat seat, int max_ctas);
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

}  // namespace troika::comm
