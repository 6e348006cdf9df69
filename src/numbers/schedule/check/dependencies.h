// The waits of a program (rules in checker.h): the exchanges between its ranks and, per instruction, those that must be
// complete before it.
#pragma once

#include <cstddef>
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

// BugError naming rank and instruction when check_fields refuses the program, or a send, receive or exchange has no
// partner.
Dependencies derive_dependencies(const Program& program);

}  // namespace troika::schedule
