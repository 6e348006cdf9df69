// The passes of a rank: what they read and the messages around them; cut into segments where something between the
// segments needs it; recomputation; exchanges with replicas; the end.
#include "schedule/build/rank_builder.h"

#include <algorithm>
#include <optional>
#include <set>

#include "schedule/instruction/placement.h"

namespace troika::schedule {
namespace {

// A computation and what is directly before and behind it.
struct Slot {
  std::vector<Instruction> before;
  Instruction computation;
  std::vector<Instruction> after;
};
using Slots = std::vector<Slot>;

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

// Exchanges of a rank with its replicas while it computes: gathers of parameters (ZeRO 3), reductions of gradients.

// Consecutive uses of one segment, by slot; computations that use no parameters do not interrupt it.
struct Run {
  int stage, segment;
  std::size_t first, last;
};

std::vector<Run> runs_of(const Slots& slots) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Instruction& c = slots[i].computation;
    if (!uses_parameters(c.kind)) continue;
    if (!runs.empty() && runs.back().segment == c.segment) {
      runs.back().last = i;
    } else {
      runs.push_back({c.stage, c.segment, i, i});
    }
  }
  return runs;
}

// A gather is placed `ahead` runs before its use. When the run that far back has the same segment, freeing it would mean gathering
// it again at once, so it stays.
void place_gathers(const RankToBuild& rank, Slots* slots) {
  if (!rank.program.shards(3)) return;
  const auto runs = runs_of(*slots);
  const std::size_t ahead = rank.shape.overlap == Overlap::on ? 1 : 0;
  const auto stays = [&](std::size_t earlier) {
    const std::size_t later = earlier + ahead + 1;
    return later < runs.size() && runs[later].segment == runs[earlier].segment;
  };
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const Run& run = runs[k];
    const Instruction gather{Kind::gather_params, -1, run.stage, run.segment, 0};
    auto& before = (*slots)[runs[k < ahead ? 0 : k - ahead].first].before;
    const bool held = k > ahead && stays(k - ahead - 1);
    if (!held) {  // under way while tokens are read
      const auto is_load = [](const Instruction& i) { return i.kind == Kind::load; };
      before.insert(std::find_if(before.begin(), before.end(), is_load), gather);
    }
    auto& after = (*slots)[run.last].after;
    if (!stays(k)) after.insert(after.begin(), {Kind::free_params, -1, run.stage, run.segment, 0});
  }
}

std::vector<Instruction> reductions_behind(const RankToBuild& rank, const Instruction& c, int last_of_share) {
  const bool each = rank.program.reduces_each_microbatch();
  if (!has_pass(c.kind, weight_pass) || (!each && c.microbatch != last_of_share)) return {};
  return {{Kind::reduce_grads, each ? c.microbatch : -1, c.stage, c.segment, 0}};
}

// The stage before can do nothing without its gradient, and a reduction would take the link before it.
bool precedes_send(const RankToBuild& rank, const Instruction& c) {
  if (rank.program.reduces_each_microbatch() || !gradient_crosses_ranks(rank.program, c.stage - 1)) return false;
  return c.kind == Kind::refwd || (c.kind == Kind::bwd && c.segment > rank.program.first_segment(c.stage));
}

// In ZeRO 0 the totals of a segment follow one computation after its reduction, which by then is probably complete.
void place_reductions(const RankToBuild& rank, Slots* slots) {
  if (!rank.reduces_early()) return;
  const int last = rank.program.last_of_share(rank.dp_rank());
  std::vector<Instruction> due, reduced_before;
  for (Slot& slot : *slots) {
    const auto behind = reductions_behind(rank, slot.computation, last);
    due.insert(due.end(), behind.begin(), behind.end());
    std::vector<Instruction> reductions;
    if (!precedes_send(rank, slot.computation)) reductions.swap(due);
    slot.after.insert(slot.after.end(), reductions.begin(), reductions.end());
    for (const Instruction& reduced : reduced_before) {
      if (rank.program.zero != 0 || is_tied_segment(rank.program, reduced.segment)) continue;
      slot.after.push_back({Kind::gather_grads, -1, reduced.stage, reduced.segment, 0});
    }
    reduced_before = reductions;
  }
}

// The end of a program: what is left of reductions, the tied embedding, totals, norm and step; of an evaluation, loss.
class StepEnd {
 public:
  StepEnd(const RankToBuild& rank, std::vector<Instruction>* out)
      : rank_(rank), stages_(trained_stages_of_rank(rank.program, rank.rank)), out_(out) {}

  void append() {
    if (rank_.program.evaluates()) return out_->push_back({Kind::loss, -1, -1, -1, 0});
    if (!rank_.reduces_early()) {
      for (const int stage : stages_) add(Kind::reduce_grads, stage, -1);
    }
    for (const int stage : tied_stages_of(rank_.program, rank_.rank)) {
      out_->push_back({Kind::reduce_tied, -1, stage, -1, 0});
    }
    if (rank_.program.zero == 0 && rank_.several_replicas()) append_totals();
    out_->push_back({Kind::norm, -1, -1, -1, 0});
    append_steps();
  }

 private:
  void add(Kind kind, int stage, int segment) { out_->push_back({kind, -1, stage, segment, 0}); }

  // Those that are not under way yet, in the order of their reductions.
  void append_totals() {
    if (!rank_.reduces_early()) {
      for (const int stage : stages_) add(Kind::gather_grads, stage, -1);
      return;
    }
    std::set<int> under_way;
    std::vector<Instruction> reduced;
    for (const Instruction& i : *out_) {
      if (i.kind == Kind::gather_grads) under_way.insert(i.segment);
      if (i.kind == Kind::reduce_grads) reduced.push_back(i);
    }
    for (const Instruction& i : reduced) {
      if (under_way.count(i.segment) == 0) add(Kind::gather_grads, i.stage, i.segment);
    }
  }

  void append_steps() {
    const bool gathers = rank_.program.shards(1) && !rank_.program.shards(3);
    const bool offloads = rank_.shape.offload != config::Offload::none;
    if (!gathers && !offloads) {
      for (const int stage : stages_) add(Kind::step, stage, -1);
      return;
    }
    std::vector<Instruction> segments;
    for (const int stage : stages_) {
      const auto [begin, end] = trained_segments_of(rank_.program, stage);
      for (int g = begin; g < end; ++g) segments.push_back({Kind::fetch, -1, stage, g, 0});
    }
    if (offloads && !segments.empty()) out_->push_back(segments.front());
    for (std::size_t k = 0; k < segments.size(); ++k) {
      if (offloads && k + 1 < segments.size()) out_->push_back(segments[k + 1]);  // copied while this one steps
      add(Kind::step, segments[k].stage, segments[k].segment);
      if (gathers) add(Kind::gather_params, segments[k].stage, segments[k].segment);
      if (offloads) add(Kind::offload, segments[k].stage, segments[k].segment);
    }
  }

  const RankToBuild& rank_;
  const std::vector<int> stages_;
  std::vector<Instruction>* out_;
};

}  // namespace

std::vector<Instruction> instructions_of(const RankToBuild& rank, const Order& order) {
  Slots slots = whole_passes(rank, order);
  place_messages(rank, &slots);
  slots = split_segments(rank, slots);
  place_gathers(rank, &slots);
  place_reductions(rank, &slots);
  std::vector<Instruction> out = flatten(slots);
  StepEnd(rank, &out).append();
  return out;
}

}  // namespace troika::schedule
