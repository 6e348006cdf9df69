#include "schedule/arrivals.h"

#include <set>

#include "schedule/border.h"

namespace troika::schedule {

Arrivals::Arrivals(const Program& program, int lane) {
  if (program.evaluates()) return;
  std::set<int> peers;
  const int dp_rank = lane % program.dp;
  for (const int stage : stages_of_lane(program, lane)) {
    if (crosses_lanes(program, stage - 1)) peers.insert(program.lane_of_stage(stage - 1, dp_rank));
    if (crosses_lanes(program, stage)) peers.insert(program.lane_of_stage(stage + 1, dp_rank));
  }
  for (const int peer : peers) follow(program, lane, peer);
}

void Arrivals::follow(const Program& program, int lane, int peer) {
  const int dp_rank = lane % program.dp;
  const auto here = [&](int stage) {
    return stage >= 0 && stage < program.stages() && program.lane_of_stage(stage, dp_rank) == lane;
  };
  std::vector<Instruction> taken;
  for (const Instruction& i : program.lanes[static_cast<std::size_t>(peer)]) {
    const int m = i.microbatch, s = i.stage;
    const bool sends_act = i.kind == Kind::send_act && here(s + 1),
               sends_grad = i.kind == Kind::send_grad && here(s - 1);
    if (sends_act) std::swap(proven_[{Kind::recv_act, m, s + 1}], taken);
    if (sends_grad) std::swap(proven_[{Kind::recv_grad, m, s - 1}], taken);
    if (!is_computation(i.kind)) continue;
    const auto [begin, end] = segments_of(program, i);
    const bool answered = s > 0 && has_backward(program, s - 1);
    if (i.kind == Kind::fwd && begin == program.first_segment(s) && here(s - 1) && answered)
      taken.push_back({Kind::send_act, m, s - 1});
    if (is_input_backward(i.kind) && end == program.end_segment(s) && here(s + 1))
      taken.push_back({Kind::send_grad, m, s + 1});
  }
}

const std::vector<Instruction>& Arrivals::proven_by(const Instruction& receive) const {
  static const std::vector<Instruction> none;
  const auto found = proven_.find({receive.kind, receive.microbatch, receive.stage});
  return found == proven_.end() ? none : found->second;
}

}  // namespace troika::schedule
