#include "schedule/build/rank_builder.h"

#include "schedule/instruction/placement.h"

namespace troika::schedule {

Slots whole_passes(const RankToBuild& rank, const Order& order) {
  const auto share = rank.program.microbatches_of(rank.dp_rank());
  Slots slots;
  for (const Instruction& i : order) {
    if (traits(i.kind).segments == Segments::trained && !has_backward(rank.program, i.stage)) continue;
    slots.push_back({{}, pass(i.kind, share[static_cast<std::size_t>(i.microbatch)], i.stage), {}});
  }
  return slots;
}

std::vector<Instruction> flatten(const Slots& slots) {
  std::vector<Instruction> out;
  for (const Slot& slot : slots) {
    out.insert(out.end(), slot.before.begin(), slot.before.end());
    out.push_back(slot.computation);
    out.insert(out.end(), slot.after.begin(), slot.after.end());
  }
  return out;
}

std::vector<Instruction> instructions_of(const RankToBuild& rank, const Order& order) {
  Slots slots = whole_passes(rank, order);
  place_messages(rank, &slots);
  slots = split_segments(rank, slots);
  place_gathers(rank, &slots);
  place_reductions(rank, &slots);
  std::vector<Instruction> out = flatten(slots);
  append_end(rank, &out);
  return out;
}

}  // namespace troika::schedule
