// What replicas and tied stages do together, the end of a step, and what a finished rank must hold.
#include <algorithm>

#include "schedule/check/errors.h"
#include "schedule/check/rank_check.h"

namespace troika::schedule {

void RankCheck::gather_params(const Instruction& i) {
  require(program_.shards(1), "parameters are sharded only in ZeRO 1 to 3 with several replicas");
  Segment& state = segment_at(i.stage, i.segment);
  if (!program_.shards(3)) {
    require(!program_.evaluates(), "in an evaluation parameters are gathered only in ZeRO 3");
    require(state.stepped, "comes before step of its segment");
    return once(&state.updated);
  }
  require(!summed_, "comes after norm");
  require(!state.gathered, "appears twice, without free_params between");
  state.gathered = true;
  state.used = false;
}

void RankCheck::free_params(const Instruction& i) {
  Segment& state = segment_at(i.stage, i.segment);
  require(state.gathered, "these parameters are not gathered here");
  require(state.used, "these parameters were gathered and not used");
  state.gathered = false;
}

void RankCheck::reduce_grads(const Instruction& i) {
  each_segment(i, [&](int s, int g, Segment& state) {
    if (program_.reduces_each_microbatch()) {
      require(!record_.has(PassRecord::reduced, i.microbatch, s, g), "appears twice");
      require(record_.has(weight_pass, i.microbatch, s, g), "no weight backward of this microbatch stands before it");
      return record_.set(PassRecord::reduced, i.microbatch, s, g);
    }
    once(&state.reduced);
    for (const int m : program_.microbatches_of(dp_rank_)) {
      require(record_.has(weight_pass, m, s, g), "not all weight backwards of its segments stand before it");
      const bool other =
          g > 0 || !is_shared_table(g) || record_.has(weight_pass, m, program_.stages() - 1, program_.segments() - 1);
      require(other, "not all weight backwards of the head, which uses the same table, stand before it");
      record_.set(PassRecord::reduced, m, s, g);
    }
  });
}

bool RankCheck::is_shared_table(int segment) const {
  const bool uses = segment == 0 || segment + 1 == program_.segments();
  return program_.tied && !program_.evaluates() && tied_on_one_rank(program_) && program_.segments() > 1 && uses;
}

bool RankCheck::last_is_reduced(int stage, int segment) const {
  const int last = segment_at(stage, segment).last_weight;
  return last < 0 || record_.has(PassRecord::reduced, last, stage, segment);
}

// Both uses write one gradient, one after the other.
void RankCheck::require_shared_table(int segment) const {
  if (!is_shared_table(segment)) return;
  const bool embedding = segment == 0;
  const int stage = embedding ? program_.stages() - 1 : 0, other = embedding ? program_.segments() - 1 : 0;
  require(last_is_reduced(stage, other), "comes before reduce_grads of the table's other use on this rank");
}

bool RankCheck::fully_reduced(int stage, int segment) const {
  const auto share = program_.microbatches_of(dp_rank_);
  return std::all_of(share.begin(), share.end(),
                     [&](int m) { return record_.has(PassRecord::reduced, m, stage, segment); });
}

void RankCheck::gather_grads(const Instruction& i) {
  require(program_.zero == 0 && program_.replicas > 1, "only ZeRO 0 with several replicas has totals to gather");
  each_segment(i, [&](int s, int g, Segment& state) {
    require(state.reduced, "comes before reduce_grads of its segment");
    require(!is_tied_segment(program_, g) || stands(Kind::reduce_tied, -1, s),
            "comes before reduce_tied of its segment");
    once(&state.totals);
  });
}

void RankCheck::reduce_tied(const Instruction& i) {
  const auto wanted = tied_stages_of(program_, static_cast<int>(rank_));
  require(std::count(wanted.begin(), wanted.end(), i.stage) != 0,
          "this rank has no tied embedding to reduce for that stage");
  require(!stands(Kind::reduce_tied, -1, i.stage), "appears twice");
  require(fully_reduced(i.stage, i.stage == 0 ? 0 : program_.segments() - 1),
          "comes before reduce_grads of the tied segment");
}

void RankCheck::summary() {
  const bool held = std::any_of(segments_.begin(), segments_.end(), [](const Segment& s) { return s.gathered; });
  require(!held, "gathered parameters are not freed before it");
  summed_ = true;
}

void RankCheck::step(const Instruction& i) {
  require(summed_, "comes before norm");
  each_segment(i, [&](int, int, Segment& state) { once(&state.stepped); });
}

void RankCheck::fetch(const Instruction& i) {
  Segment& state = segment_at(i.stage, i.segment);
  require(!state.stepped, "comes after step of its segment");
  once(&state.fetched);
}

void RankCheck::offload(const Instruction& i) {
  Segment& state = segment_at(i.stage, i.segment);
  require(state.fetched, "no fetch of its segment stands before it");
  require(state.stepped, "comes before step of its segment");
  once(&state.offloaded);
}

void RankCheck::complete() const {
  const int rank = static_cast<int>(rank_);
  const auto stages = stages_of_rank(program_, rank);
  for (const int stage : stages) complete_passes(stage);
  for (const int stage : tied_stages_of(program_, rank)) {
    if (!stands(Kind::reduce_tied, -1, stage))
      refuse_missing(rank_, {Kind::reduce_tied, -1, stage, -1, 0}, "the two uses of the embedding would not be added");
  }
  const Kind end = program_.evaluates() ? Kind::loss : Kind::norm;
  if (!summed_) refuse_missing(rank_, {end, -1, -1, -1, 0}, "every rank takes part in it once");
  if (program_.evaluates()) return;
  for (const int stage : stages) {
    const SegmentRange range = trained_segments_of(program_, stage);
    for (int g = range.begin; g < range.end; ++g) complete_segment(stage, g);
  }
}

void RankCheck::complete_passes(int stage) const {
  for (const int m : program_.microbatches_of(dp_rank_)) {
    for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
      if (!record_.has(forward_pass, m, stage, g))
        refuse_missing(rank_, {Kind::fwd, m, stage, g, 0}, "every microbatch needs its forward");
      if (program_.evaluates() || g < program_.first_trained) continue;
      if (!record_.has(input_pass, m, stage, g))
        refuse_missing(rank_, {Kind::bwd, m, stage, g, 0}, "every forward needs its backward");
      if (!record_.has(weight_pass, m, stage, g))
        refuse_missing(rank_, {Kind::bwd_weight, m, stage, g, 0}, "bwd_input alone gives no weight gradient");
      const int reduced = program_.reduces_each_microbatch() ? m : -1;
      if (!record_.has(PassRecord::reduced, m, stage, g))
        refuse_missing(rank_, {Kind::reduce_grads, reduced, stage, g, 0},
                       "the segment's gradients would not be summed");
    }
  }
}

void RankCheck::complete_segment(int stage, int segment) const {
  const Segment& state = segment_at(stage, segment);
  const auto need = [&](bool holds, Kind kind, const char* reason) {
    if (!holds) refuse_missing(rank_, {kind, -1, stage, segment, 0}, reason);
  };
  const bool several = program_.replicas > 1;
  need(state.totals || program_.zero != 0 || !several, Kind::gather_grads, "the replicas would not learn the totals");
  need(state.stepped, Kind::step, "every segment is updated once");
  const bool updates = program_.shards(1) && !program_.shards(3);
  need(state.updated || !updates, Kind::gather_params, "the replicas would not learn the updated parameters");
  need(state.offloaded || !state.fetched, Kind::offload, "what was fetched must go back");
}

}  // namespace troika::schedule
