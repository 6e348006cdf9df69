// The passes of a rank: what they read and the messages around them; cut into segments where something between the
// segments needs it; and recomputation.
#include "schedule/build/rank_builder.h"

#include <algorithm>
#include <optional>
#include <set>

#include "schedule/instruction/placement.h"

namespace troika::schedule {

namespace {

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

// The message a pass needs or makes, if its stage has a neighbour on another rank on that side.
std::optional<Instruction> receive_of(const RankToBuild& rank, const Instruction& c) {
  if (c.kind == Kind::fwd && crosses_ranks(rank.program, c.stage - 1))
    return Instruction{Kind::recv_act, c.microbatch, c.stage, -1, 0};
  if (has_pass(c.kind, input_pass) && gradient_crosses_ranks(rank.program, c.stage))
    return Instruction{Kind::recv_grad, c.microbatch, c.stage, -1, 0};
  return std::nullopt;
}

std::optional<Instruction> send_of(const RankToBuild& rank, const Instruction& c) {
  if (c.kind == Kind::fwd && crosses_ranks(rank.program, c.stage))
    return Instruction{Kind::send_act, c.microbatch, c.stage, -1, 0};
  if (has_pass(c.kind, input_pass) && gradient_crosses_ranks(rank.program, c.stage - 1))
    return Instruction{Kind::send_grad, c.microbatch, c.stage, -1, 0};
  return std::nullopt;
}

void place_receives(const RankToBuild& rank, Slots* slots) {
  std::optional<std::size_t> last_act, last_grad;  // the previous pass that received in this direction
  for (std::size_t i = 0; i < slots->size(); ++i) {
    const auto receive = receive_of(rank, (*slots)[i].computation);
    if (!receive) continue;
    auto& last = receive->kind == Kind::recv_act ? last_act : last_grad;
    (*slots)[last.value_or(i == 0 ? 0 : i - 1)].before.push_back(*receive);
    last = i;
  }
}

void place_messages(const RankToBuild& rank, Slots* slots) {
  place_receives(rank, slots);
  std::set<int> loaded;
  for (Slot& slot : *slots) {
    const Instruction& c = slot.computation;
    if (reads_tokens(rank.program, c.stage) && loaded.insert(c.microbatch).second)
      slot.before.push_back({Kind::load, c.microbatch, -1, -1, 0});
    if (const auto send = send_of(rank, c)) slot.after.push_back(*send);
  }
}

bool by_segment(const RankToBuild& rank, const Instruction& c) {
  const bool recompute = rank.shape.recompute == config::Recompute::full;
  if (c.kind == Kind::fwd || c.kind == Kind::bwd_input) return recompute || rank.program.shards(3);
  const int last = rank.program.last_of_share(rank.dp_rank());
  const bool reduced_behind = rank.reduces_early() && (rank.program.shards(2) || c.microbatch == last);
  return reduced_behind || (c.kind == Kind::bwd && recompute);
}

// Forwards ascend, backwards descend.
std::vector<Instruction> parts_of(const RankToBuild& rank, const Instruction& c) {
  if (!by_segment(rank, c)) return {c};
  const auto [begin, end] = segments_of(rank.program, c);
  std::vector<Instruction> parts;
  for (int g = begin; g < end; ++g) parts.push_back({c.kind, c.microbatch, c.stage, g, 0});
  if (c.kind != Kind::fwd) std::reverse(parts.begin(), parts.end());
  return parts;
}

bool is_recomputed(const RankToBuild& rank, const Instruction& part, const Instruction* pass_before) {
  if (rank.shape.recompute != config::Recompute::full || !has_pass(part.kind, input_pass)) return false;
  const bool direct = pass_before != nullptr && *pass_before == pass(Kind::fwd, part.microbatch, part.stage);
  return !direct || part.segment + 1 != rank.program.end_segment(part.stage);
}

Slots split_segments(const RankToBuild& rank, const Slots& slots) {
  Slots out;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::size_t first = out.size();
    for (Instruction part : parts_of(rank, slots[i].computation)) {
      if (is_recomputed(rank, part, i > 0 ? &slots[i - 1].computation : nullptr))
        out.push_back({{}, {Kind::refwd, part.microbatch, part.stage, part.segment, 0}, {}});
      out.push_back({{}, part, {}});
    }
    out[first].before = slots[i].before;
    out.back().after = slots[i].after;
  }
  return out;
}

}  // namespace

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
