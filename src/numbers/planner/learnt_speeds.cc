#include "planner/learnt_speeds.h"

#include "plan/instruction_units.h"
#include "schedule/instruction/placement.h"

namespace troika::planner {

using schedule::Instruction;
using schedule::Kind;

void LearntMean::add(const Taken& taken, double of) {
  own += taken.own;
  inside += taken.inside;
  amount += of;
}

void LearntMean::add(const LearntMean& other) {
  own += other.own;
  inside += other.inside;
  amount += other.amount;
}

Taken LearntMean::times(double of) const {
  return amount > 0 ? Taken{own / amount * of, inside / amount * of} : Taken{};
}

void LearntSpeeds::Rank::add(const Rank& other) {
  for (const auto& [through, mean] : other.passes) passes[through].add(mean);
  for (const auto& [direction, mean] : other.by_units) by_units[direction].add(mean);
  for (const auto& [kind, mean] : other.others) others[kind].add(mean);
}

// Both halves of a backward take as long.
std::optional<LearntSpeeds::Part> LearntSpeeds::part_of(const plan::Plan& plan, Kind kind) {
  if (!schedule::is_computation(kind)) return std::nullopt;
  const bool backward =
      schedule::has_pass(kind, schedule::input_pass) || schedule::has_pass(kind, schedule::weight_pass);
  const double part = plan::part_in_pass(plan, kind, plan.program.segments() - 1);
  return Part{backward ? Direction::backward : Direction::forward, part};
}

double LearntSpeeds::tokens_of(const plan::Plan& plan) {
  return static_cast<double>(plan.resolved.batch.micro * plan.resolved.batch.seq_len) /
         static_cast<double>(plan.shape.tp * plan.shape.cp);
}

// What the seconds of an instruction that is no pass go by.
double LearntSpeeds::amount_of(const plan::Plan& plan, const Instruction& i) {
  if (i.kind == Kind::load) return tokens_of(plan);
  if (i.kind == Kind::step)
    return plan::trained_elements(plan, i) / (plan.program.shards(1) ? plan.program.replicas : 1);
  if (i.kind == Kind::reduce_grads || i.kind == Kind::gather_grads) return plan::trained_elements(plan, i);
  return 1;
}

LearntSpeeds::LearntSpeeds(const plan::Plan& recorded, const RecordedSeconds& seconds)
    : ranks_(recorded.program.ranks.size()) {
  const std::vector<double> costs = plan::segment_costs(recorded);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const Instruction& i : recorded.program.ranks[rank])
      learn(recorded, costs, i, seconds.of(static_cast<int>(rank), i), &ranks_[rank]);
    all_.add(ranks_[rank]);
  }
}

void LearntSpeeds::learn(const plan::Plan& plan, const std::vector<double>& costs, const Instruction& i,
                         const Taken& taken, Rank* rank) const {
  const auto part = part_of(plan, i.kind);
  if (!part) return rank->others[i.kind].add(taken, amount_of(plan, i));
  const schedule::SegmentRange range = schedule::segments_of(plan.program, i);
  rank->passes[{part->direction, range.begin, range.end}].add(taken, part->part * tokens_of(plan));
  rank->by_units[part->direction].add(taken, plan::units_of(plan, costs, i));
}

// The rank's own, else that of all.
template <class Name>
static LearntMean known_or_any(const std::map<Name, LearntMean>& own, const std::map<Name, LearntMean>& all,
                               const Name& name) {
  if (const auto found = own.find(name); found != own.end()) return found->second;
  const auto found = all.find(name);
  return found == all.end() ? LearntMean{} : found->second;
}

Taken LearntSpeeds::of(const plan::Plan& changed, const std::vector<double>& costs, int rank,
                       const Instruction& i) const {
  const auto own_rank = static_cast<std::size_t>(rank);
  const Rank& known = own_rank < ranks_.size() ? ranks_[own_rank] : all_;
  const auto part = part_of(changed, i.kind);
  if (!part) return known_or_any(known.others, all_.others, i.kind).times(amount_of(changed, i));
  const schedule::SegmentRange range = schedule::segments_of(changed.program, i);
  const auto same = known.passes.find({part->direction, range.begin, range.end});
  if (same != known.passes.end()) return same->second.times(part->part * tokens_of(changed));
  return known_or_any(known.by_units, all_.by_units, part->direction).times(plan::units_of(changed, costs, i));
}

}  // namespace troika::planner
