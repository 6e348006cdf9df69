#include "schedule/lane_check.h"

#include "schedule/fault.h"

namespace troika::schedule {

LaneCheck::LaneCheck(const Program& program, int lane)
    : program_(program),
      lane_(static_cast<std::size_t>(lane)),
      dp_rank_(lane % program.dp),
      table_(program, lane),
      segments_(table_.slots()) {}

static bool may_follow_norm(Kind kind) {
  return kind == Kind::step || kind == Kind::fetch || kind == Kind::offload || kind == Kind::gather_params;
}

static bool belongs_to(Task task, Kind kind) {
  switch (kind) {
    case Kind::load:
    case Kind::fwd:
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::gather_params:
    case Kind::free_params:
      return true;
    case Kind::loss:
      return task == Task::evaluation;
    default:
      return task == Task::training;
  }
}

void LaneCheck::run() {
  const auto& instructions = program_.lanes[lane_];
  for (index_ = 0; index_ < instructions.size(); ++index_) {
    require(belongs_to(program_.task, instructions[index_].kind),
            program_.evaluates() ? "has no place in an evaluation" : "stands only in an evaluation");
    require(!norm_ || (!program_.evaluates() && may_follow_norm(instructions[index_].kind)),
            program_.evaluates() ? "comes after loss" : "comes after norm");
    visit(instructions[index_]);
  }
  complete();
}

void LaneCheck::visit(const Instruction& i) {
  switch (i.kind) {
    case Kind::load:
      return require(loaded_.insert(i.microbatch).second, "stands twice");
    case Kind::fwd:
    case Kind::refwd:
    case Kind::bwd:
    case Kind::bwd_input:
    case Kind::bwd_weight:
      return compute(i);
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::send_grad:
    case Kind::recv_grad:
      return message(i);
    case Kind::gather_params:
      return gather_params(i);
    case Kind::free_params:
      return free_params(i);
    case Kind::reduce_grads:
      return reduce(i);
    case Kind::gather_grads:
      return gather_grads(i);
    case Kind::reduce_tied:
      return reduce_tied(i);
    case Kind::norm:
    case Kind::loss:
      return norm();
    case Kind::fetch:
    case Kind::offload:
      return copy(i);
    case Kind::step:
      return step(i);
  }
}

void LaneCheck::require(bool holds, const char* reason) const {
  if (!holds) fault(program_, lane_, index_, reason);
}

void LaneCheck::once(bool* done) const {
  require(!*done, "stands twice");
  *done = true;
}

void LaneCheck::message(const Instruction& i) {
  const bool to_next = i.kind == Kind::send_act || i.kind == Kind::recv_grad;
  const int left = to_next ? i.stage : i.stage - 1;
  require(crosses_lanes(program_, left), "there is no stage on another lane on that side");
  const bool gradient = i.kind == Kind::send_grad || i.kind == Kind::recv_grad;
  require(!gradient || has_backward(program_, left), "the stage before has no backward");
  require(messages_.insert({i.kind, {i.microbatch, i.stage}}).second, "stands twice");
  if (i.kind == Kind::send_act)
    require(table_.all(PassTable::forward, i.microbatch, i.stage),
            "no complete forward of this microbatch stands before it");
  if (i.kind == Kind::send_grad)
    require(table_.all(PassTable::input, i.microbatch, i.stage),
            "no complete backward of this microbatch stands before it");
}

}  // namespace troika::schedule
