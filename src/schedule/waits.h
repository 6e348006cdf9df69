// The waits of one lane (rules in checker.h).
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

// Per instruction of the lane: the meetings that must be complete before it. meeting_of: the lane's row of
// Flow::meeting_of.
std::vector<std::vector<std::size_t>> derive_waits(const Program& program, std::size_t lane,
                                                   const std::vector<std::size_t>& meeting_of);

}  // namespace troika::schedule
