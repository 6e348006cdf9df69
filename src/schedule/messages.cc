// Loads, receives and sends of a lane.
#include <optional>
#include <set>

#include "schedule/border.h"
#include "schedule/emit.h"

namespace troika::schedule {

namespace {

// The message a pass needs or makes, if its stage has a neighbour on another lane on that side.
std::optional<Instruction> receive_of(const Lane& lane, const Instruction& c) {
  const std::int64_t bytes = lane.shape.boundary_bytes;
  if (c.kind == Kind::fwd && crosses_lanes(lane.program, c.stage - 1))
    return Instruction{Kind::recv_act, c.microbatch, c.stage, -1, bytes};
  if (is_input_backward(c.kind) && gradient_crosses_lanes(lane.program, c.stage))
    return Instruction{Kind::recv_grad, c.microbatch, c.stage, -1, bytes};
  return std::nullopt;
}

std::optional<Instruction> send_of(const Lane& lane, const Instruction& c) {
  const std::int64_t bytes = lane.shape.boundary_bytes;
  if (c.kind == Kind::fwd && crosses_lanes(lane.program, c.stage))
    return Instruction{Kind::send_act, c.microbatch, c.stage, -1, bytes};
  if (is_input_backward(c.kind) && gradient_crosses_lanes(lane.program, c.stage - 1))
    return Instruction{Kind::send_grad, c.microbatch, c.stage, -1, bytes};
  return std::nullopt;
}

void place_receives(const Lane& lane, Slots* slots) {
  std::optional<std::size_t> last_act, last_grad;  // the previous pass that received in this direction
  for (std::size_t i = 0; i < slots->size(); ++i) {
    const auto receive = receive_of(lane, (*slots)[i].computation);
    if (!receive) continue;
    auto& last = receive->kind == Kind::recv_act ? last_act : last_grad;
    (*slots)[last.value_or(i == 0 ? 0 : i - 1)].before.push_back(*receive);
    last = i;
  }
}

}  // namespace

void place_messages(const Lane& lane, Slots* slots) {
  place_receives(lane, slots);
  std::set<int> loaded;
  for (Slot& slot : *slots) {
    const Instruction& c = slot.computation;
    if (reads_tokens(lane.program, c.stage) && loaded.insert(c.microbatch).second)
      slot.before.push_back({Kind::load, c.microbatch, -1, -1, 0});
    if (const auto send = send_of(lane, c)) slot.after.push_back(*send);
  }
}

}  // namespace troika::schedule
