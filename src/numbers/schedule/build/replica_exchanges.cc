// What a rank exchanges with its replicas while it computes: gathers of parameters (ZeRO 3), reductions of gradients.
#include <algorithm>
#include <iterator>

#include "schedule/build/rank_builder.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {

namespace {

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

}  // namespace

// A gather stands `ahead` runs before its use. When the run that far back has the same segment, freeing it would mean
// gathering it again at once, so it stays.
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

namespace {

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

}  // namespace

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

}  // namespace troika::schedule
