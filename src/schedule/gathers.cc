// ZeRO 3: when a segment's parameters are brought together and let go.
#include <algorithm>

#include "schedule/border.h"
#include "schedule/emit.h"

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
void place_gathers(const Lane& lane, Slots* slots) {
  if (!lane.program.shards(3)) return;
  const auto runs = runs_of(*slots);
  const std::size_t ahead = lane.shape.overlap == Overlap::on ? 1 : 0;
  const auto stays = [&](std::size_t earlier) {
    const std::size_t later = earlier + ahead + 1;
    return later < runs.size() && runs[later].segment == runs[earlier].segment;
  };
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const Run& run = runs[k];
    Instruction gather{Kind::gather_params, -1, run.stage, run.segment, 0};
    gather.bytes = lane.bytes_sent(gather);
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

}  // namespace troika::schedule
