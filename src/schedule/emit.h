// What builders share: from a lane's order of passes to its instructions, in a chain of small steps.
#pragma once

#include <vector>

#include "schedule/builder.h"
#include "schedule/instruction.h"
#include "schedule/orders.h"

namespace troika::schedule {

// The program without instructions: stages on their pp ranks, empty lanes. ConfigError when the shape is impossible.
Program frame(const StepShape& shape);

// A computation and what stands directly before and behind it.
struct Slot {
  std::vector<Instruction> before;
  Instruction computation;
  std::vector<Instruction> after;
};
using Slots = std::vector<Slot>;

// What the steps need to know.
struct Lane {
  const Program& program;
  const StepShape& shape;
  int index;

  int dp_rank() const { return index % program.dp; }
  bool several_replicas() const { return program.replicas > 1; }
  // Reductions begin behind the backwards they sum, not at the end.
  bool reduces_early() const {
    return program.reduces_each_microbatch() || (several_replicas() && shape.overlap == Overlap::on);
  }
  // By one rank in reduce_grads, gather_grads or gather_params of the instruction's segments; 0 with one replica.
  std::int64_t bytes_sent(const Instruction& i) const;
};

// The steps, in this order; emit_lane takes all of them.
Slots whole_passes(const Lane& lane, const Order& order);    // microbatches become global
void place_messages(const Lane& lane, Slots* slots);         // loads, receives, sends; of whole passes
Slots split_segments(const Lane& lane, const Slots& slots);  // and refwd
void place_gathers(const Lane& lane, Slots* slots);          // ZeRO 3
void place_reductions(const Lane& lane, Slots* slots);       // those that stand behind a computation
std::vector<Instruction> flatten(const Slots& slots);
void append_tail(const Lane& lane, std::vector<Instruction>* out);  // what is left of reductions, norm, step

std::vector<Instruction> emit_lane(const Lane& lane, const Order& order);

}  // namespace troika::schedule
