// The waits of a program (rules in checker.h): the exchanges between its ranks and, per instruction, those that must be
// complete before it.
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "schedule/instruction/program.h"

namespace troika::schedule {

struct Place {  // an instruction of a program
  std::size_t rank = 0;
  std::size_t index = 0;
};

// One message (parties: its send, its receive), an exchange of several ranks (by rank), or one rank's copy.
struct Meeting {
  std::vector<Place> parties;
};

inline constexpr std::size_t no_meeting = static_cast<std::size_t>(-1);

struct Dependencies {
  std::vector<Meeting> meetings;
  // [rank][index]: the meeting the instruction takes part in (or `no_meeting`), and those that must be complete before
  // it, or before the second half of a bwd. What an earlier instruction of the rank waited for is not named again.
  std::vector<std::vector<std::size_t>> meeting_of;
  std::vector<std::vector<std::vector<std::size_t>>> waits, waits_between_halves;
};

// UnsoundProgram naming rank and instruction when check_fields refuses the program, or a send, receive or exchange has no
// partner.
Dependencies derive_dependencies(const Program& program);

// The sends of a rank that have surely arrived, from a sound program alone. When a message of a peer is taken, everything that the
// peer had taken before it started that message has arrived: its buffers may go, and waiting for it costs nothing.
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
