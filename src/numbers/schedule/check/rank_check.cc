// The walk itself, passes and messages.
#include "schedule/check/rank_check.h"

#include "schedule/check/errors.h"

namespace troika::schedule {

RankCheck::RankCheck(const Program& program, int rank)
    : program_(program),
      rank_(static_cast<std::size_t>(rank)),
      dp_rank_(rank % program.dp),
      record_(program, rank),
      segments_(record_.slots()) {}

static bool belongs_to(Task task, Kind kind) {
  const Tasks tasks = traits(kind).tasks;
  return tasks == Tasks::both || (tasks == Tasks::evaluation) == (task == Task::evaluation);
}

static bool may_follow_summary(Kind kind) {
  return traits(kind).part == Part::update || traits(kind).part == Part::pipeline_or_update;
}

void RankCheck::run() {
  const auto& instructions = program_.ranks[rank_];
  for (index_ = 0; index_ < instructions.size(); ++index_) {
    require(belongs_to(program_.task, instructions[index_].kind),
            program_.evaluates() ? "has no place in an evaluation" : "stands only in an evaluation");
    require(!summed_ || (!program_.evaluates() && may_follow_summary(instructions[index_].kind)),
            program_.evaluates() ? "comes after loss" : "comes after norm");
    visit(instructions[index_]);
  }
  complete();
}

void RankCheck::visit(const Instruction& i) {
  if (is_computation(i.kind)) return compute(i);
  if (is_message(i.kind)) message(i);
  if (traits(i.kind).part == Part::summary) return summary();
  switch (i.kind) {
    case Kind::gather_params:
      return gather_params(i);
    case Kind::free_params:
      return free_params(i);
    case Kind::reduce_grads:
      return reduce_grads(i);
    case Kind::gather_grads:
      return gather_grads(i);
    case Kind::reduce_tied:
      reduce_tied(i);
      break;
    case Kind::fetch:
      return fetch(i);
    case Kind::offload:
      return offload(i);
    case Kind::step:
      return step(i);
    default:
      break;
  }
  require(stands_.insert({i.kind, i.microbatch, i.stage, i.segment}).second, "appears twice");
}

bool RankCheck::stands(Kind kind, int microbatch, int stage) const {
  return stands_.count({kind, microbatch, stage, -1}) != 0;
}

void RankCheck::require(bool holds, const char* reason) const {
  if (!holds) refuse_at(program_, rank_, index_, reason);
}

void RankCheck::once(bool* done) const {
  require(!*done, "appears twice");
  *done = true;
}

// Backwards of a whole stage go through its segments in reverse order.
void RankCheck::compute(const Instruction& i) {
  const auto [begin, end] = segments_of(program_, i);
  for (int k = 0; k < end - begin; ++k) {
    if (has_pass(i.kind, forward_pass)) forward(i, begin + k);
    if (has_pass(i.kind, recompute_pass)) recompute(i, begin + k);
    if (has_pass(i.kind, input_pass)) backward_input(i, end - 1 - k);
    if (has_pass(i.kind, weight_pass)) backward_weight(i, end - 1 - k);
  }
}

void RankCheck::use_parameters(const Instruction& i, int segment) {
  Segment& state = segment_at(i.stage, segment);
  require(!program_.shards(3) || state.gathered, "the parameters of a segment it uses are not gathered here");
  state.used = true;
}

void RankCheck::forward(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(!record_.has(forward_pass, m, s, segment), "appears twice");
  require(!reads_tokens(program_, s) || stands(Kind::load, m, -1), "no load of this microbatch stands before it");
  if (segment > program_.first_segment(s)) {
    require(record_.has(forward_pass, m, s, segment - 1), "no forward of the segment before stands before it");
  } else if (crosses_ranks(program_, s - 1)) {
    require(stands(Kind::recv_act, m, s), "no recv_act of this microbatch stands before it");
  } else if (s > 0) {
    require(record_.all(forward_pass, m, s - 1), "no forward of the previous stage stands before it");
  }
  use_parameters(i, segment);
  record_.set(forward_pass, m, s, segment);
}

void RankCheck::recompute(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(record_.has(forward_pass, m, s, segment), "no forward of this microbatch stands before it");
  require(!record_.has(input_pass, m, s, segment), "comes after its backward");
  require(!record_.has(recompute_pass, m, s, segment), "appears twice");
  use_parameters(i, segment);
  record_.set(recompute_pass, m, s, segment);
}

void RankCheck::backward_input(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  require(record_.has(forward_pass, m, s, segment), "no forward of this microbatch stands before it");
  require(!record_.has(input_pass, m, s, segment), "appears twice");
  if (segment + 1 < program_.end_segment(s)) {
    require(record_.has(input_pass, m, s, segment + 1), "no backward of the segment behind stands before it");
  } else if (crosses_ranks(program_, s)) {
    require(stands(Kind::recv_grad, m, s), "no recv_grad of this microbatch stands before it");
  } else if (s + 1 < program_.stages()) {
    require(record_.all(input_pass, m, s + 1), "no backward of the next stage stands before it");
  }
  use_parameters(i, segment);
  record_.set(input_pass, m, s, segment);
}

void RankCheck::backward_weight(const Instruction& i, int segment) {
  const int m = i.microbatch, s = i.stage;
  Segment& state = segment_at(s, segment);
  require(record_.has(input_pass, m, s, segment), "no bwd_input of this microbatch stands before it");
  require(!record_.has(weight_pass, m, s, segment), "appears twice");
  require(!state.reduced, "comes after reduce_grads of its segment");
  if (program_.reduces_each_microbatch()) {
    require(last_is_reduced(s, segment),
            "comes before reduce_grads of the microbatch before, whose gradient it would overwrite");
    require_shared_table(segment);
  }
  state.last_weight = m;
  record_.set(weight_pass, m, s, segment);
}

// What is sent must be there.
void RankCheck::message(const Instruction& i) {
  const Traits& row = traits(i.kind);
  const int left = left_stage(i);
  require(crosses_ranks(program_, left), "there is no stage on another rank on that side");
  require(row.payload != Payload::gradient || has_backward(program_, left), "the stage before has no backward");
  if (row.role != Role::send) return;
  if (row.payload == Payload::activation)
    require(record_.all(forward_pass, i.microbatch, i.stage),
            "no complete forward of this microbatch stands before it");
  if (row.payload == Payload::gradient)
    require(record_.all(input_pass, i.microbatch, i.stage), "no complete backward of this microbatch stands before it");
}

}  // namespace troika::schedule
