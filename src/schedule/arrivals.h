// Which sends of a lane have surely arrived, from the program alone.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

// A lane's messages to and from its neighbours in a sound program. When a message of a peer is taken, everything that
// the peer had taken before it started that message has arrived: its buffers may go, and waiting for it costs nothing.
class Arrivals {
 public:
  Arrivals(const Program& program, int lane);

  // The lane's sends that are known to have arrived once `receive` (recv_act or recv_grad of this lane) is taken and
  // were not known before. What the end of the step must prove is never named, nor what is unanswered (border.h): that
  // has arrived before the next one starts.
  const std::vector<Instruction>& proven_by(const Instruction& receive) const;

 private:
  using Key = std::tuple<Kind, int, int>;  // microbatch, stage
  void follow(const Program& program, int lane, int peer);

  std::map<Key, std::vector<Instruction>> proven_;
};

}  // namespace troika::schedule
