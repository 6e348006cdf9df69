// Which sends of a rank have surely arrived, from the program alone.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "schedule/instruction/program.h"

namespace troika::schedule {

// A rank's messages to and from its neighbours in a sound program. When a message of a peer is taken, everything that
// the peer had taken before it started that message has arrived: its buffers may go, and waiting for it costs nothing.
class KnownArrivals {
 public:
  KnownArrivals(const Program& program, int rank);

  // The rank's sends that are known to have arrived once `receive` (recv_act or recv_grad of this rank) is taken and
  // were not known before. What the end of the step must prove is never named, nor what is unanswered (placement.h):
  // that has arrived before the next one starts.
  const std::vector<Instruction>& proven_by(const Instruction& receive) const;

 private:
  using Key = std::tuple<Kind, int, int>;  // microbatch, stage
  void follow(const Program& program, int rank, int peer);

  std::map<Key, std::vector<Instruction>> proven_;
};

}  // namespace troika::schedule
