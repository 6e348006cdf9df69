// The part of LaneCheck about what replicas and tied stages do together.
#include <algorithm>

#include "schedule/fault.h"
#include "schedule/lane_check.h"

namespace troika::schedule {

void LaneCheck::gather_params(const Instruction& i) {
  require(program_.shards(1), "parameters are sharded only in ZeRO 1 to 3 with several replicas");
  Segment& state = segment_at(i.stage, i.segment);
  if (!program_.shards(3)) {
    require(!program_.evaluates(), "in an evaluation parameters are gathered only in ZeRO 3");
    require(state.stepped, "comes before step of its segment");
    return once(&state.updated);
  }
  require(!norm_, "comes after norm");
  require(!state.gathered, "stands twice, without free_params between");
  state.gathered = true;
  state.used = false;
}

void LaneCheck::free_params(const Instruction& i) {
  Segment& state = segment_at(i.stage, i.segment);
  require(state.gathered, "these parameters are not gathered here");
  require(state.used, "these parameters were gathered and not used");
  state.gathered = false;
}

void LaneCheck::reduce(const Instruction& i) {
  each_segment(i, [&](int s, int g, Segment& state) {
    if (program_.reduces_each_microbatch()) {
      require(!table_.has(PassTable::reduced, i.microbatch, s, g), "stands twice");
      require(table_.has(PassTable::weight, i.microbatch, s, g),
              "no weight backward of this microbatch stands before it");
      return table_.set(PassTable::reduced, i.microbatch, s, g);
    }
    once(&state.reduced);
    for (const int m : program_.microbatches_of(dp_rank_)) {
      require(table_.has(PassTable::weight, m, s, g), "not all weight backwards of its segments stand before it");
      table_.set(PassTable::reduced, m, s, g);
    }
  });
}

bool LaneCheck::fully_reduced(int stage, int segment) const {
  const auto share = program_.microbatches_of(dp_rank_);
  return std::all_of(share.begin(), share.end(),
                     [&](int m) { return table_.has(PassTable::reduced, m, stage, segment); });
}

void LaneCheck::gather_grads(const Instruction& i) {
  require(program_.zero == 0 && program_.replicas > 1, "only ZeRO 0 with several replicas has totals to gather");
  each_segment(i, [&](int s, int g, Segment& state) {
    require(state.reduced, "comes before reduce_grads of its segment");
    const int tied_stage = tied_on_one_lane(program_) ? 0 : s;
    require(!is_tied_segment(program_, g) || tied_.count(tied_stage) != 0, "comes before reduce_tied of its segment");
    once(&state.totals);
  });
}

void LaneCheck::reduce_tied(const Instruction& i) {
  const auto wanted = tied_stages_of(program_, static_cast<int>(lane_));
  require(std::count(wanted.begin(), wanted.end(), i.stage) != 0,
          "this lane has no tied embedding to reduce for that stage");
  require(tied_.insert(i.stage).second, "stands twice");
  const int last_stage = program_.stages() - 1;
  const bool embedding = i.stage != 0 || fully_reduced(0, 0);
  const bool head_here = i.stage == last_stage || tied_on_one_lane(program_);
  const bool head = !head_here || fully_reduced(last_stage, program_.segments() - 1);
  require(embedding && head, "comes before reduce_grads of the tied segment");
}

}  // namespace troika::schedule
