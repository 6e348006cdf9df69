// The part of LaneCheck about the end of a step, and about what a finished lane must hold.
#include <algorithm>

#include "schedule/fault.h"
#include "schedule/lane_check.h"

namespace troika::schedule {

void LaneCheck::norm() {
  const bool held = std::any_of(segments_.begin(), segments_.end(), [](const Segment& s) { return s.gathered; });
  require(!held, "gathered parameters are not freed before it");
  norm_ = true;
}

void LaneCheck::step(const Instruction& i) {
  require(norm_, "comes before norm");
  each_segment(i, [&](int, int, Segment& state) { once(&state.stepped); });
}

void LaneCheck::copy(const Instruction& i) {
  Segment& state = segment_at(i.stage, i.segment);
  if (i.kind == Kind::fetch) {
    require(!state.stepped, "comes after step of its segment");
    return once(&state.fetched);
  }
  require(state.fetched, "no fetch of its segment stands before it");
  require(state.stepped, "comes before step of its segment");
  once(&state.offloaded);
}

void LaneCheck::complete() const {
  const int lane = static_cast<int>(lane_);
  const auto stages = stages_of_lane(program_, lane);
  for (const int stage : stages) complete_passes(stage);
  for (const int stage : tied_stages_of(program_, lane)) {
    if (tied_.count(stage) == 0)
      missing(lane_, {Kind::reduce_tied, -1, stage, -1, 0}, "the two uses of the embedding would not be added");
  }
  const Kind end = program_.evaluates() ? Kind::loss : Kind::norm;
  if (!norm_) missing(lane_, {end, -1, -1, -1, 0}, "every lane takes part in it once");
  if (program_.evaluates()) return;
  for (const int stage : stages) {
    const SegmentRange range = segments_of(program_, {Kind::step, -1, stage, -1, 0});
    for (int g = range.begin; g < range.end; ++g) complete_segment(stage, g);
  }
}

void LaneCheck::complete_passes(int stage) const {
  for (const int m : program_.microbatches_of(dp_rank_)) {
    for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
      if (!table_.has(PassTable::forward, m, stage, g))
        missing(lane_, {Kind::fwd, m, stage, g, 0}, "every microbatch needs its forward");
      if (program_.evaluates() || g < program_.first_trained) continue;
      if (!table_.has(PassTable::input, m, stage, g))
        missing(lane_, {Kind::bwd, m, stage, g, 0}, "every forward needs its backward");
      if (!table_.has(PassTable::weight, m, stage, g))
        missing(lane_, {Kind::bwd_weight, m, stage, g, 0}, "bwd_input alone gives no weight gradient");
      const int reduced = program_.reduces_each_microbatch() ? m : -1;
      if (!table_.has(PassTable::reduced, m, stage, g))
        missing(lane_, {Kind::reduce_grads, reduced, stage, g, 0}, "the segment's gradients would not be summed");
    }
  }
}

void LaneCheck::complete_segment(int stage, int segment) const {
  const Segment& state = segment_at(stage, segment);
  const auto need = [&](bool holds, Kind kind, const char* reason) {
    if (!holds) missing(lane_, {kind, -1, stage, segment, 0}, reason);
  };
  const bool several = program_.replicas > 1;
  need(state.totals || program_.zero != 0 || !several, Kind::gather_grads, "the replicas would not learn the totals");
  need(state.stepped, Kind::step, "every segment is updated once");
  const bool updates = program_.shards(1) && !program_.shards(3);
  need(state.updated || !updates, Kind::gather_params, "the replicas would not learn the updated parameters");
  need(state.offloaded || !state.fetched, Kind::offload, "what was fetched must go back");
}

}  // namespace troika::schedule
