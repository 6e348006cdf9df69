// Passes cut into segments where something between the segments needs it, and recomputation.
#include <algorithm>

#include "schedule/border.h"
#include "schedule/emit.h"

namespace troika::schedule {

namespace {

bool by_segment(const Lane& lane, const Instruction& c) {
  const bool recompute = lane.shape.recompute == Recompute::full;
  if (c.kind == Kind::fwd || c.kind == Kind::bwd_input) return recompute || lane.program.shards(3);
  const int last = lane.program.microbatches_of(lane.dp_rank()).back();
  const bool reduced_behind = lane.reduces_early() && (lane.program.shards(2) || c.microbatch == last);
  return reduced_behind || (c.kind == Kind::bwd && recompute);
}

// Forwards ascend, backwards descend.
std::vector<Instruction> parts_of(const Lane& lane, const Instruction& c) {
  if (!by_segment(lane, c)) return {c};
  const auto [begin, end] = segments_of(lane.program, c);
  std::vector<Instruction> parts;
  for (int g = begin; g < end; ++g) parts.push_back({c.kind, c.microbatch, c.stage, g, 0});
  if (c.kind != Kind::fwd) std::reverse(parts.begin(), parts.end());
  return parts;
}

bool is_recomputed(const Lane& lane, const Instruction& part, const Instruction* pass_before) {
  if (lane.shape.recompute != Recompute::full || !is_input_backward(part.kind)) return false;
  const bool direct = pass_before != nullptr && *pass_before == pass(Kind::fwd, part.microbatch, part.stage);
  return !direct || part.segment + 1 != lane.program.end_segment(part.stage);
}

}  // namespace

Slots split_segments(const Lane& lane, const Slots& slots) {
  Slots out;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::size_t first = out.size();
    for (Instruction part : parts_of(lane, slots[i].computation)) {
      if (is_recomputed(lane, part, i > 0 ? &slots[i - 1].computation : nullptr))
        out.push_back({{}, {Kind::refwd, part.microbatch, part.stage, part.segment, 0}, {}});
      out.push_back({{}, part, {}});
    }
    out[first].before = slots[i].before;
    out.back().after = slots[i].after;
  }
  return out;
}

}  // namespace troika::schedule
