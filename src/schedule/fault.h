// One form for everything that is wrong with a program.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "schedule/instruction.h"

namespace troika::schedule {

// "step program, lane 1, instruction 7 'bwd 2.1': <reason>"
[[noreturn]] inline void fault(const Program& program, std::size_t lane, std::size_t index, const std::string& reason) {
  throw base::BugError(fmt::format("step program, lane {}, instruction {} '{}': {}", lane, index,
                                   to_text(program.lanes[lane][index]), reason));
}

// For an instruction that is missing.
[[noreturn]] inline void missing(std::size_t lane, const Instruction& instruction, const std::string& reason) {
  throw base::BugError(fmt::format("step program, lane {}: '{}' is missing; {}", lane, to_text(instruction), reason));
}

}  // namespace troika::schedule
