// Who waits for what (rules in checker.h): the transfers and exchanges of a program and, per instruction, those it needs.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

struct Place {  // an instruction of a program
  std::size_t lane = 0;
  std::size_t index = 0;
};

struct Transfer {  // one message
  Place send, receive;
};

// What several lanes do together, and (one party) a copy to or from host memory.
struct Exchange {
  std::vector<Place> parties;  // by lane
};

struct Waits {  // indices into Flow::transfers and Flow::exchanges
  std::vector<std::size_t> transfers;
  std::vector<std::size_t> exchanges;
};

inline constexpr std::size_t none = static_cast<std::size_t>(-1);

struct Flow {
  std::vector<Transfer> transfers;
  std::vector<Exchange> exchanges;
  // [lane][index]: what the instruction starts (or `none`), and what must be complete before it runs.
  std::vector<std::vector<std::size_t>> transfer_of, exchange_of;
  std::vector<std::vector<Waits>> waits;
};

// BugError naming lane and instruction when a send, receive or exchange has no partner.
Flow derive_flow(const Program& program);

}  // namespace troika::schedule
