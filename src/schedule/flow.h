// Who waits for what (rules in checker.h): what a program's lanes do together and, per instruction, which of it must be
// complete before the instruction.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

struct Place {  // an instruction of a program
  std::size_t lane = 0;
  std::size_t index = 0;
};

// One message (parties: its send, its receive), an exchange of several lanes (by lane), or one lane's copy.
struct Meeting {
  std::vector<Place> parties;
};

inline constexpr std::size_t none = static_cast<std::size_t>(-1);

struct Flow {
  std::vector<Meeting> meetings;
  // [lane][index]: the meeting the instruction takes part in (or `none`), and those that must be complete before it.
  // What an earlier instruction of the lane waited for is not named again.
  std::vector<std::vector<std::size_t>> meeting_of;
  std::vector<std::vector<std::vector<std::size_t>>> waits;
};

// True for norm, loss and reduce_tied, which last until their own meeting is complete; the others only start theirs.
bool blocks(Kind kind);

// BugError naming lane and instruction when check_fields refuses the program, or a send, receive or exchange has no
// partner.
Flow derive_flow(const Program& program);

}  // namespace troika::schedule
