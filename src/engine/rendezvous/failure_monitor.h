// Follows all ranks of an attempt where the store is hosted: writes the failure report that FailureJudge or StallJudge gives,
// and for every rank to read who is behind or slow, and whose save stands.
#pragma once

#include <memory>

#include "rendezvous/identity.h"

namespace troika::rendezvous {

class FailureMonitor {
 public:
  // Connects to the store that `identity` names; its world_rank is not used. Follows from a thread of its own until a report
  // stands or the store has ended.
  explicit FailureMonitor(const Identity& identity);
  ~FailureMonitor();
  FailureMonitor(const FailureMonitor&) = delete;
  FailureMonitor& operator=(const FailureMonitor&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
