// The part of LaneCheck about computations.
#include "schedule/fault.h"
#include "schedule/lane_check.h"

namespace troika::schedule {

// Backwards of a whole stage go through its segments in reverse order.
void LaneCheck::compute(const Instruction& i) {
  const auto [begin, end] = segments_of(program_, i);
  for (int k = 0; k < end - begin; ++k) {
    if (i.kind == Kind::fwd) forward(i, begin + k);
    if (i.kind == Kind::refwd) again(i, begin + k);
    if (is_input_backward(i.kind)) backward_input(i, end - 1 - k);
    if (is_weight_backward(i.kind)) backward_weight(i, end - 1 - k);
  }
}

void LaneCheck::use_parameters(const Instruction& i, int segment) {
  Segment& state = segment_at(i.stage, segment);
  require(!program_.shards(3) || state.gathered, "the parameters of a segment it uses are not gathered here");
  state.used = true;
}

void LaneCheck::forward(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(!table_.has(PassTable::forward, m, s, segment), "stands twice");
  require(!reads_tokens(program_, s) || loaded_.count(m) != 0, "no load of this microbatch stands before it");
  if (segment > program_.first_segment(s)) {
    require(table_.has(PassTable::forward, m, s, segment - 1), "no forward of the segment before stands before it");
  } else if (crosses_lanes(program_, s - 1)) {
    require(messages_.count({Kind::recv_act, {m, s}}) != 0, "no recv_act of this microbatch stands before it");
  } else if (s > 0) {
    require(table_.all(PassTable::forward, m, s - 1), "no forward of the previous stage stands before it");
  }
  use_parameters(i, segment);
  table_.set(PassTable::forward, m, s, segment);
}

void LaneCheck::again(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(table_.has(PassTable::forward, m, s, segment), "no forward of this microbatch stands before it");
  require(!table_.has(PassTable::input, m, s, segment), "comes after its backward");
  require(!table_.has(PassTable::again, m, s, segment), "stands twice");
  use_parameters(i, segment);
  table_.set(PassTable::again, m, s, segment);
}

void LaneCheck::backward_input(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(table_.has(PassTable::forward, m, s, segment), "no forward of this microbatch stands before it");
  require(!table_.has(PassTable::input, m, s, segment), "stands twice");
  if (segment + 1 < program_.end_segment(s)) {
    require(table_.has(PassTable::input, m, s, segment + 1), "no backward of the segment behind stands before it");
  } else if (crosses_lanes(program_, s)) {
    require(messages_.count({Kind::recv_grad, {m, s}}) != 0, "no recv_grad of this microbatch stands before it");
  } else if (s + 1 < program_.stages()) {
    require(table_.all(PassTable::input, m, s + 1), "no backward of the next stage stands before it");
  }
  use_parameters(i, segment);
  table_.set(PassTable::input, m, s, segment);
}

void LaneCheck::backward_weight(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  Segment& state = segment_at(s, segment);
  require(table_.has(PassTable::input, m, s, segment), "no bwd_input of this microbatch stands before it");
  require(!table_.has(PassTable::weight, m, s, segment), "stands twice");
  require(state.last_weight < m, "weight backwards of a stage must ascend in microbatch order");
  require(!state.reduced, "comes after reduce_grads of its segment");
  const bool last_reduced = state.last_weight < 0 || table_.has(PassTable::reduced, state.last_weight, s, segment);
  require(!program_.reduces_each_microbatch() || last_reduced,
          "comes before reduce_grads of the microbatch before, whose gradient it would overwrite");
  state.last_weight = m;
  table_.set(PassTable::weight, m, s, segment);
}

}  // namespace troika::schedule
