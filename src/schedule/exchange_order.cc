#include "schedule/exchange_order.h"

#include <vector>

#include "schedule/fault.h"

namespace troika::schedule {

static std::vector<std::size_t> exchanges_of(const std::vector<Instruction>& lane) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const Kind kind = lane[i].kind;
    if (kind == Kind::gather_params || kind == Kind::reduce_grads || kind == Kind::gather_grads) places.push_back(i);
  }
  return places;
}

static bool meet(const Program& program, const Instruction& a, const Instruction& b) {
  const bool round = a.microbatch < 0
                         ? b.microbatch < 0
                         : b.microbatch >= 0 && program.round_of(a.microbatch) == program.round_of(b.microbatch);
  return round && a.kind == b.kind && a.stage == b.stage && a.segment == b.segment;
}

static void compare(const Program& program, std::size_t first, std::size_t lane) {
  const auto theirs = exchanges_of(program.lanes[first]), mine = exchanges_of(program.lanes[lane]);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const Instruction& other = program.lanes[first][theirs[k]];
    if (meet(program, other, program.lanes[lane][mine[k]])) continue;
    fault(program, lane, mine[k],
          fmt::format("stands where lane {} has '{}'; exchanges must come in one order", first, to_text(other)));
  }
}

void check_exchange_order(const Program& program) {
  const auto dp = static_cast<std::size_t>(program.dp);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    if (lane % dp != 0) compare(program, lane - lane % dp, lane);
  }
}

}  // namespace troika::schedule
