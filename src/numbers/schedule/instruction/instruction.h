// One instruction of a step program, and its text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedule/instruction/kinds.h"

namespace troika::schedule {

struct Instruction {
  Kind kind = Kind::norm;
  int microbatch = -1;     // -1: not about one microbatch
  int stage = -1;          // -1: not about one stage
  int segment = -1;        // -1: all segments of the stage
  std::int64_t bytes = 0;  // sent (recv_*: received) by this rank; not part of the text form

  bool operator==(const Instruction& o) const {
    return kind == o.kind && microbatch == o.microbatch && stage == o.stage && segment == o.segment;
  }
};

// "fwd 4.1", "gather_params *.1.7", "reduce_grads *.1", "load 4", "norm": kind, then microbatch.stage.segment with `*`
// for an unset microbatch and trailing unset parts left out.
std::string to_text(const Instruction& instruction);
Instruction parse_instruction(std::string_view text);  // ConfigError names the text and the character
bool parse_kind(std::string_view text, Kind* kind);

}  // namespace troika::schedule
