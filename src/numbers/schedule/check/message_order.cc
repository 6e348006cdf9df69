#include "schedule/check/message_order.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "schedule/instruction/placement.h"

namespace troika::schedule {
namespace {

struct Posted {
  std::size_t rank = 0, index = 0;  // of the instruction
  std::string message;              // as its sender calls it
};
using Edge = std::tuple<int, int, Payload>;  // from, to, of what

// By edge, in program order of one end.
struct PostingOrder {
  std::map<Edge, std::vector<Posted>> sends, receives;
};

// Both ends of a tied table send theirs and receive the other's.
void include_tied(const Program& program, const Posted& at, int stage, PostingOrder* order) {
  const auto rank = static_cast<int>(at.rank);
  const int last = program.stages() - 1, peer = program.rank_of_stage(stage == 0 ? last : 0, rank % program.dp);
  order->receives[{peer, rank, Payload::tied_gradient}].push_back({at.rank, at.index, fmt::format("tied to {}", rank)});
  order->sends[{rank, peer, Payload::tied_gradient}].push_back({at.rank, at.index, fmt::format("tied to {}", peer)});
}

void include(const Program& program, std::size_t rank, std::size_t index, PostingOrder* order) {
  const Instruction& i = program.ranks[rank][index];
  const Role role = traits(i.kind).role;
  if (i.kind == Kind::reduce_tied) return include_tied(program, {rank, index, ""}, i.stage, order);
  if (role != Role::send && role != Role::receive) return;
  const auto me = static_cast<int>(rank);
  const int peer = program.rank_of_stage(peer_stage(i), me % program.dp);
  if (role == Role::send) {
    order->sends[{me, peer, traits(i.kind).payload}].push_back({rank, index, to_text(i)});
  } else {
    order->receives[{peer, me, traits(i.kind).payload}].push_back({rank, index, to_text(partner_of(i))});
  }
}

}  // namespace

std::string receive_out_of_order(const Program& program) {
  PostingOrder order;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (std::size_t index = 0; index < program.ranks[rank].size(); ++index) include(program, rank, index, &order);
  }
  for (const auto& [edge, receives] : order.receives) {
    const std::vector<Posted>& sends = order.sends[edge];
    for (std::size_t k = 0; k < receives.size(); ++k) {
      if (k < sends.size() && sends[k].message == receives[k].message) continue;
      return fmt::format("grid rank {} starts '{}' (instruction {}) where grid rank {} sends '{}'", std::get<1>(edge),
                         to_text(program.ranks[receives[k].rank][receives[k].index]), receives[k].index,
                         std::get<0>(edge), k < sends.size() ? sends[k].message : "nothing");
    }
  }
  return "";
}

}  // namespace troika::schedule
