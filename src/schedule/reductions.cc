// Reductions that begin while the lane still computes.
#include <iterator>

#include "schedule/border.h"
#include "schedule/emit.h"

namespace troika::schedule {

namespace {

std::vector<Instruction> reductions_behind(const Lane& lane, const Instruction& c, int last_of_share) {
  const bool each = lane.program.reduces_each_microbatch();
  if (!is_weight_backward(c.kind) || (!each && c.microbatch != last_of_share)) return {};
  Instruction reduce{Kind::reduce_grads, each ? c.microbatch : -1, c.stage, c.segment, 0};
  reduce.bytes = lane.bytes_sent(reduce);
  return {reduce};
}

// The stage before can do nothing without its gradient, and a reduction would take the link before it.
bool precedes_send(const Lane& lane, const Instruction& c) {
  if (lane.program.reduces_each_microbatch() || !gradient_crosses_lanes(lane.program, c.stage - 1)) return false;
  return c.kind == Kind::refwd || (c.kind == Kind::bwd && c.segment > lane.program.first_segment(c.stage));
}

}  // namespace

// In ZeRO 0 the totals of a segment follow one computation after its reduction, which by then is probably complete.
void place_reductions(const Lane& lane, Slots* slots) {
  if (!lane.reduces_early()) return;
  const int last = lane.program.microbatches_of(lane.dp_rank()).back();
  std::vector<Instruction> due, reduced_before;
  for (Slot& slot : *slots) {
    const auto behind = reductions_behind(lane, slot.computation, last);
    due.insert(due.end(), behind.begin(), behind.end());
    std::vector<Instruction> reductions;
    if (!precedes_send(lane, slot.computation)) reductions.swap(due);
    slot.after.insert(slot.after.end(), reductions.begin(), reductions.end());
    for (const Instruction& reduced : reduced_before) {
      if (lane.program.zero != 0 || is_tied_segment(lane.program, reduced.segment)) continue;
      Instruction gather{Kind::gather_grads, -1, reduced.stage, reduced.segment, 0};
      gather.bytes = lane.bytes_sent(gather);
      slot.after.push_back(gather);
    }
    reduced_before = reductions;
  }
}

}  // namespace troika::schedule
