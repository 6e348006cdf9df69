#include "schedule/lane_check.h"

#include <algorithm>

#include "schedule/border.h"
#include "schedule/fault.h"

namespace troika::schedule {

LaneCheck::LaneCheck(const Program& program, int lane) : program_(program), lane_(static_cast<std::size_t>(lane)) {
  for (const auto& i : program.lanes[lane_]) {
    if (i.kind == Kind::gather_params) sharded_.insert({i.stage, i.segment});
  }
}

void LaneCheck::run() {
  const auto& instructions = program_.lanes[lane_];
  for (index_ = 0; index_ < instructions.size(); ++index_) {
    fields(instructions[index_]);
    require(!step_, "nothing may follow step");
    visit(instructions[index_]);
  }
  complete();
}

void LaneCheck::visit(const Instruction& i) {
  switch (i.kind) {
    case Kind::load:
      return once(&loaded_, i.microbatch);
    case Kind::fwd:
      return forward(i);
    case Kind::refwd:
      return again(i);
    case Kind::bwd:
      backward_input(i);
      return backward_weight(i);
    case Kind::bwd_input:
      return backward_input(i);
    case Kind::bwd_weight:
      return backward_weight(i);
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::send_grad:
    case Kind::recv_grad:
      return message(i);
    case Kind::gather_params:
    case Kind::free_params:
      return sharded(i);
    case Kind::offload:
    case Kind::fetch:
      return copies(i);
    case Kind::reduce_grads:
      return reduce(i);
    case Kind::reduce_tied:
      return reduce_tied(i);
    case Kind::norm:
    case Kind::step:
      return finish(i);
  }
}

void LaneCheck::require(bool holds, const char* reason) const {
  if (!holds) fault(program_, lane_, index_, reason);
}

bool LaneCheck::has_stage(int stage) const {
  return stage < program_.stages() &&
         program_.pp_rank_of_stage[static_cast<std::size_t>(stage)] == static_cast<int>(lane_) / program_.dp;
}

// Which of microbatch, stage and segment the kind has, and whether they belong to this lane.
void LaneCheck::fields(const Instruction& i) const {
  const bool finish = i.kind == Kind::norm || i.kind == Kind::step;
  const bool of_stage = i.kind == Kind::gather_params || i.kind == Kind::free_params || i.kind == Kind::reduce_grads ||
                        i.kind == Kind::reduce_tied;
  const bool compute = i.kind == Kind::fwd || i.kind == Kind::refwd || i.kind == Kind::bwd ||
                       i.kind == Kind::bwd_input || i.kind == Kind::bwd_weight;
  const bool segment_allowed = compute || (of_stage && i.kind != Kind::reduce_tied);
  require((i.microbatch >= 0) == (!finish && !of_stage),
          i.microbatch < 0 ? "needs a microbatch" : "takes no microbatch");
  require((i.stage >= 0) == (!finish && i.kind != Kind::load), i.stage < 0 ? "needs a stage" : "takes no stage");
  require(i.segment < 0 || segment_allowed, "takes no segment");
  require(i.stage < 0 || has_stage(i.stage), "the stage does not sit on this lane");
  const bool mine = i.microbatch < program_.microbatches &&
                    program_.dp_rank_of(i.microbatch) == static_cast<int>(lane_) % program_.dp;
  require(i.microbatch < 0 || mine, "the microbatch does not belong to this lane's share");
}

// True when every forward segment of (microbatch, stage) is in `done`, and there is one.
bool LaneCheck::all_segments(const std::set<Triple>& done, int microbatch, int stage) const {
  auto at = forward_.lower_bound({microbatch, stage, -1});
  bool any = false;
  for (; at != forward_.end() && std::get<0>(*at) == microbatch && std::get<1>(*at) == stage; ++at) {
    if (done.count(*at) == 0) return false;
    any = true;
  }
  return any;
}

void LaneCheck::require_gathered(const Instruction& i) const {
  for (const auto& [stage, segment] : sharded_) {
    if (stage != i.stage || (i.segment >= 0 && segment >= 0 && segment != i.segment)) continue;
    require(gathered_.count({stage, segment}) != 0, "its parameters are not gathered here");
  }
}

void LaneCheck::message(const Instruction& i) {
  const Pair key{i.microbatch, i.stage};
  const bool to_next = i.kind == Kind::send_act || i.kind == Kind::recv_grad;
  require(crosses_lanes(program_, to_next ? i.stage : i.stage - 1), "there is no stage on another lane on that side");
  if (i.kind == Kind::recv_act) {
    require(!all_segments(forward_, i.microbatch, i.stage), "comes after its forward");
    once(&received_act_, key);
  } else if (i.kind == Kind::recv_grad) {
    once(&received_grad_, key);
  } else if (i.kind == Kind::send_act) {
    require(all_segments(forward_, i.microbatch, i.stage), "no forward of this microbatch stands before it");
    once(&sent_act_, key);
  } else {
    require(all_segments(input_, i.microbatch, i.stage), "no complete backward of this microbatch stands before it");
    once(&sent_grad_, key);
  }
}

void LaneCheck::sharded(const Instruction& i) {
  const Pair key{i.stage, i.segment};
  if (i.kind == Kind::gather_params) return once(&gathered_, key);
  require(gathered_.erase(key) == 1, "these parameters are not gathered here");
}

void LaneCheck::copies(const Instruction& i) {
  const Pair key{i.microbatch, i.stage};
  if (i.kind == Kind::offload) {
    require(all_segments(forward_, i.microbatch, i.stage), "no forward of this microbatch stands before it");
    return once(&offloaded_, key);
  }
  require(offloaded_.count(key) != 0, "nothing was offloaded before");
  once(&fetched_, key);
}

void LaneCheck::reduce(const Instruction& i) {
  require(!norm_, "comes after norm");
  require(weights_done(i.stage, i.segment), "not all weight backwards of the stage stand before it");
  const bool clash = i.segment < 0 ? reduced_.lower_bound({i.stage, 0}) != reduced_.lower_bound({i.stage + 1, -1})
                                   : reduced_.count({i.stage, -1}) != 0;
  require(!clash, "the stage is reduced whole and by segment");
  once(&reduced_, Pair{i.stage, i.segment});
}

void LaneCheck::reduce_tied(const Instruction& i) {
  const auto wanted = tied_stages_of(program_, static_cast<int>(lane_));
  require(std::count(wanted.begin(), wanted.end(), i.stage) != 0,
          "this lane has no tied embedding to reduce for that stage");
  require(reduced_.lower_bound({i.stage, -1}) != reduced_.lower_bound({i.stage + 1, -1}),
          "comes before reduce_grads of the stage");
  require(!norm_, "comes after norm");
  once(&tied_, i.stage);
}

void LaneCheck::finish(const Instruction& i) {
  if (i.kind == Kind::step) {
    require(norm_, "comes before norm");
    require(gathered_.empty(), "gathered parameters are not freed before it");
    step_ = true;
    return;
  }
  require(!norm_, "stands twice");
  norm_ = true;
}

}  // namespace troika::schedule
