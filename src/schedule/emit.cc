#include "schedule/emit.h"

#include "schedule/border.h"

namespace troika::schedule {

std::int64_t Lane::bytes_sent(const Instruction& i) const {
  if (!several_replicas() || shape.segments.empty()) return 0;
  const auto [begin, end] = segments_of(program, i);
  std::int64_t sum = 0;
  for (int g = begin; g < end; ++g) {
    const SegmentBytes& bytes = shape.segments[static_cast<std::size_t>(g)];
    if (i.kind == Kind::reduce_grads) sum += bytes.gradients_sent;
    if (i.kind == Kind::gather_grads) sum += bytes.totals_sent;
    if (i.kind == Kind::gather_params) sum += bytes.parameters_sent;
  }
  return sum;
}

Slots whole_passes(const Lane& lane, const Order& order) {
  const auto share = lane.program.microbatches_of(lane.dp_rank());
  Slots slots;
  for (const Instruction& i : order) {
    if (belongs_to_backward(i.kind) && !has_backward(lane.program, i.stage)) continue;
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

std::vector<Instruction> emit_lane(const Lane& lane, const Order& order) {
  Slots slots = whole_passes(lane, order);
  place_messages(lane, &slots);
  slots = split_segments(lane, slots);
  place_gathers(lane, &slots);
  place_reductions(lane, &slots);
  std::vector<Instruction> out = flatten(slots);
  append_tail(lane, &out);
  return out;
}

}  // namespace troika::schedule
