#include "schedule/check/known_arrivals.h"

#include <set>

#include "schedule/instruction/placement.h"

namespace troika::schedule {

KnownArrivals::KnownArrivals(const Program& program, int rank) {
  if (program.evaluates()) return;
  std::set<int> peers;
  const int dp_rank = rank % program.dp;
  for (const int stage : stages_of_rank(program, rank)) {
    if (crosses_ranks(program, stage - 1)) peers.insert(program.rank_of_stage(stage - 1, dp_rank));
    if (crosses_ranks(program, stage)) peers.insert(program.rank_of_stage(stage + 1, dp_rank));
  }
  for (const int peer : peers) follow(program, rank, peer);
}

void KnownArrivals::follow(const Program& program, int rank, int peer) {
  const int dp_rank = rank % program.dp;
  const auto here = [&](int stage) {
    return stage >= 0 && stage < program.stages() && program.rank_of_stage(stage, dp_rank) == rank;
  };
  std::vector<Instruction> taken;
  for (const Instruction& i : program.ranks[static_cast<std::size_t>(peer)]) {
    const int m = i.microbatch, s = i.stage;
    if (traits(i.kind).role == Role::send && here(peer_stage(i))) {
      const Instruction receive = partner_of(i);
      std::swap(proven_[{receive.kind, m, receive.stage}], taken);
    }
    if (!is_computation(i.kind)) continue;
    const auto [begin, end] = segments_of(program, i);
    const bool answered = s > 0 && has_backward(program, s - 1);
    if (has_pass(i.kind, forward_pass) && begin == program.first_segment(s) && here(s - 1) && answered)
      taken.push_back({Kind::send_act, m, s - 1});
    if (has_pass(i.kind, input_pass) && end == program.end_segment(s) && here(s + 1))
      taken.push_back({Kind::send_grad, m, s + 1});
  }
}

const std::vector<Instruction>& KnownArrivals::proven_by(const Instruction& receive) const {
  static const std::vector<Instruction> none;
  const auto found = proven_.find({receive.kind, receive.microbatch, receive.stage});
  return found == proven_.end() ? none : found->second;
}

}  // namespace troika::schedule
