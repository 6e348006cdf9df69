// What builders share: from a rank's order of passes to its instructions, in a chain of small steps.
#pragma once

#include <vector>

#include "schedule/build/builder.h"
#include "schedule/build/schedules.h"

namespace troika::schedule {

// The program without instructions: stages on their pp ranks. ConfigError when the shape is impossible.
Program empty_program(const StepShape& shape);

// A computation and what is directly before and behind it.
struct Slot {
  std::vector<Instruction> before;
  Instruction computation;
  std::vector<Instruction> after;
};
using Slots = std::vector<Slot>;

// What the steps need to know.
struct RankToBuild {
  const Program& program;
  const StepShape& shape;
  int rank;

  int dp_rank() const { return rank % program.dp; }
  bool several_replicas() const { return program.replicas > 1; }
  // Reductions begin behind the backwards they sum, not at the end.
  bool reduces_early() const {
    return program.reduces_each_microbatch() || (several_replicas() && shape.overlap == Overlap::on);
  }
};

// The steps, in this order; instructions_of takes all of them. Bytes are set afterwards (set_bytes).
Slots whole_passes(const RankToBuild& rank, const Order& order);    // microbatches become global
void place_messages(const RankToBuild& rank, Slots* slots);         // loads, receives, sends; of whole passes
Slots split_segments(const RankToBuild& rank, const Slots& slots);  // and refwd
void place_gathers(const RankToBuild& rank, Slots* slots);          // ZeRO 3
void place_reductions(const RankToBuild& rank, Slots* slots);       // those that are behind a computation
std::vector<Instruction> flatten(const Slots& slots);
void append_end(const RankToBuild& rank, std::vector<Instruction>* out);  // what is left of reductions, norm, step

std::vector<Instruction> instructions_of(const RankToBuild& rank, const Order& order);

}  // namespace troika::schedule
