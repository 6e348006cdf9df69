// What a rank hears of others that are behind or slow, and says of its own save where nobody else watches it.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "records/incident.h"
#include "rendezvous/save_judge.h"
#include "rendezvous/ticker.h"
#include "train/whereabouts.h"

namespace troika::train {

// Threads: any. Listeners must not wait.
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

// Of a rank that is alone, for there is no monitor that hears of its saves. Both outlive it.
class OwnSaveWatch {
 public:
  OwnSaveWatch(const Whereabouts& whereabouts, Notices& notices, double heartbeat_seconds);

 private:
  rendezvous::SaveJudge judge_;  // of the ticker's thread
  rendezvous::Ticker ticker_;    // last: its thread uses what stands above
};

}  // namespace troika::train
