// The part of LaneCheck about computations and about what a finished lane must hold.
#include <fmt/format.h>

#include "schedule/border.h"
#include "schedule/fault.h"
#include "schedule/lane_check.h"

namespace troika::schedule {

void LaneCheck::forward(const Instruction& i) {
  const Triple key{i.microbatch, i.stage, i.segment};
  require(forward_.count(key) == 0, "stands twice");
  const auto later = forward_.upper_bound(key);
  const auto same_pair = [&](const Triple& other) {
    return std::get<0>(other) == i.microbatch && std::get<1>(other) == i.stage;
  };
  require(later == forward_.end() || !same_pair(*later), "a later segment of the stage was computed before it");
  require(i.segment < 0 || forward_.count({i.microbatch, i.stage, -1}) == 0, "the whole stage was computed before it");
  require(sent_act_.count({i.microbatch, i.stage}) == 0, "the stage's output was sent before it");
  const bool reads_tokens = i.stage == 0 || i.stage == program_.stages() - 1;
  require(!reads_tokens || loaded_.count(i.microbatch) != 0, "no load of this microbatch stands before it");
  if (crosses_lanes(program_, i.stage - 1)) {
    require(received_act_.count({i.microbatch, i.stage}) != 0, "no recv_act of this microbatch stands before it");
  } else if (i.stage > 0) {
    require(all_segments(forward_, i.microbatch, i.stage - 1), "no forward of the previous stage stands before it");
  }
  require_gathered(i);
  forward_.insert(key);
}

void LaneCheck::again(const Instruction& i) {
  const Triple key{i.microbatch, i.stage, i.segment};
  require(forward_.count(key) != 0, "no forward of this microbatch stands before it");
  require(input_.count(key) == 0, "comes after its backward");
  require_gathered(i);
  once(&again_, key);
}

void LaneCheck::backward_input(const Instruction& i) {
  const Triple key{i.microbatch, i.stage, i.segment};
  const Pair pair{i.microbatch, i.stage};
  require(forward_.count(key) != 0, "no forward of this microbatch stands before it");
  require(input_.count(key) == 0, "stands twice");
  for (auto later = forward_.upper_bound(key); later != forward_.end() && std::get<0>(*later) == i.microbatch;
       ++later) {
    if (std::get<1>(*later) != i.stage) break;
    require(input_.count(*later) != 0, "a later segment of the stage has no backward before it");
  }
  if (crosses_lanes(program_, i.stage)) {
    require(received_grad_.count(pair) != 0, "no recv_grad of this microbatch stands before it");
  } else if (i.stage + 1 < program_.stages()) {
    require(all_segments(input_, i.microbatch, i.stage + 1), "no backward of the next stage stands before it");
  }
  require(offloaded_.count(pair) == 0 || fetched_.count(pair) != 0, "what was offloaded is not fetched before it");
  require_gathered(i);
  input_.insert(key);
}

void LaneCheck::backward_weight(const Instruction& i) {
  const Triple key{i.microbatch, i.stage, i.segment};
  require(input_.count(key) != 0, "no bwd_input of this microbatch stands before it");
  once(&weight_, key);
  const auto [last, first_time] = last_weight_.emplace(Pair{i.stage, i.segment}, i.microbatch);
  require(first_time || last->second < i.microbatch, "weight backwards of a stage must ascend in microbatch order");
  last->second = i.microbatch;
  const bool reduced = reduced_.count({i.stage, i.segment}) != 0 || reduced_.count({i.stage, -1}) != 0;
  require(!reduced, "comes after reduce_grads of the stage");
}

// True when every microbatch of the share has finished the weight gradients of the stage (or of one segment).
bool LaneCheck::weights_done(int stage, int segment) const {
  const int count = program_.microbatches / program_.dp;
  const int first = first_microbatch_of(program_, static_cast<int>(lane_) % program_.dp);
  for (int m = first; m < first + count; ++m) {
    const bool whole = weight_.count({m, stage, -1}) != 0;
    const bool part = segment < 0 ? all_segments(weight_, m, stage) : weight_.count({m, stage, segment}) != 0;
    if (!whole && !part) return false;
  }
  return true;
}

void LaneCheck::complete_stage(int stage) const {
  const int count = program_.microbatches / program_.dp;
  const int first = first_microbatch_of(program_, static_cast<int>(lane_) % program_.dp);
  for (int m = first; m < first + count; ++m) {
    if (!all_segments(forward_, m, stage))
      missing(lane_, {Kind::fwd, m, stage, -1, 0}, "every microbatch needs its forward");
    if (!all_segments(input_, m, stage))
      missing(lane_, {Kind::bwd, m, stage, -1, 0}, "every forward needs its backward");
    if (!all_segments(weight_, m, stage))
      missing(lane_, {Kind::bwd_weight, m, stage, -1, 0}, "bwd_input alone gives no weight gradient");
  }
  const bool reduced = reduced_.lower_bound({stage, -1}) != reduced_.lower_bound({stage + 1, -1});
  if (!reduced) missing(lane_, {Kind::reduce_grads, -1, stage, -1, 0}, "the stage's gradients would not be summed");
}

void LaneCheck::complete() const {
  for (int stage = 0; stage < program_.stages(); ++stage) {
    if (has_stage(stage)) complete_stage(stage);
  }
  for (const int stage : tied_stages_of(program_, static_cast<int>(lane_))) {
    if (tied_.count(stage) == 0)
      missing(lane_, {Kind::reduce_tied, -1, stage, -1, 0}, "the two uses of the embedding would not be added");
  }
  if (!norm_) missing(lane_, {Kind::norm, -1, -1, -1, 0}, "every lane takes part in it once");
  if (!step_) missing(lane_, {Kind::step, -1, -1, -1, 0}, "every lane ends with it");
}

}  // namespace troika::schedule
