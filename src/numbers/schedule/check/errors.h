// One form for everything that is wrong with a program.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "schedule/instruction/program.h"

namespace troika::schedule {

// "step program, grid rank 1, instruction 7 'bwd 2.1': <reason>"
[[noreturn]] inline void refuse_at(const Program& program, std::size_t rank, std::size_t index,
                                   const std::string& reason) {
  throw base::BugError(fmt::format("step program, grid rank {}, instruction {} '{}': {}", rank, index,
                                   to_text(program.ranks[rank][index]), reason));
}

// For an instruction that is missing.
[[noreturn]] inline void refuse_missing(std::size_t rank, const Instruction& instruction, const std::string& reason) {
  throw base::BugError(
      fmt::format("step program, grid rank {}: '{}' is missing; {}", rank, to_text(instruction), reason));
}

}  // namespace troika::schedule
