#include "planner/recorded_seconds.h"

#include <algorithm>
#include <set>

#include "schedule/instruction/kinds.h"

namespace troika::planner {
namespace {

using schedule::Event;
using schedule::Instruction;

bool copies(const Instruction& i) { return schedule::traits(i.kind).role == schedule::Role::copy; }

}  // namespace

RecordedSeconds::RecordedSeconds(const plan::Plan& plan, const schedule::StepTrace& trace) {
  ranks_.resize(plan.program.ranks.size());
  std::vector<double> members(ranks_.size());
  for (const schedule::RankTimeline& timeline : trace.ranks) {
    add(plan, timeline);
    ++members[static_cast<std::size_t>(timeline.grid_rank)];
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::map<Key, double> times;
    for (const Instruction& i : plan.program.ranks[rank]) ++times[key_of(i)];
    for (auto& [key, taken] : ranks_[rank]) {
      taken.own /= members[rank] * times[key];
      taken.inside /= members[rank] * times[key];
    }
  }
}

// Of a tp or cp group every wait of a pass but one before it has computed anything is for its peers.
void RecordedSeconds::add(const plan::Plan& plan, const schedule::RankTimeline& timeline) {
  const bool in_group = plan.shape.tp * plan.shape.cp > 1;
  auto& taken = ranks_[static_cast<std::size_t>(timeline.grid_rank)];
  std::set<Key> computed;
  double end = 0, copied = 0;
  for (const Event& event : timeline.events) {
    const Key key = key_of(event.instruction);
    if (event.activity == Event::Activity::transfer) {
      if (!copies(event.instruction)) continue;
      taken[key].own += event.end_seconds - std::max(event.begin_seconds, copied);
      copied = event.end_seconds;
      continue;
    }
    taken[key].own += std::max(0.0, event.begin_seconds - end);
    const double seconds = std::max(0.0, event.end_seconds - std::max(end, event.begin_seconds));
    if (event.activity == Event::Activity::compute) {
      taken[key].own += seconds;
      computed.insert(key);
    } else if (in_group && schedule::is_computation(event.instruction.kind) && computed.count(key) != 0) {
      taken[key].inside += seconds;
    }
    end = std::max(end, event.end_seconds);
  }
}

Taken RecordedSeconds::of(int rank, const Instruction& i) const {
  const auto& of_rank = ranks_[static_cast<std::size_t>(rank)];
  const auto found = of_rank.find(key_of(i));
  return found == of_rank.end() ? Taken{} : found->second;
}

}  // namespace troika::planner
