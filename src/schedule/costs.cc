#include <algorithm>
#include <cmath>

#include "schedule/exchange_seconds.h"
#include "schedule/simulator.h"

namespace troika::schedule {

CostModel table_costs(const CostTable& table, const Link& link) {
  CostModel costs;
  costs.seconds = [table](const Instruction& i) {
    auto row = table.find({i.kind, i.stage});
    if (row == table.end()) row = table.find({i.kind, -1});
    return row == table.end() ? 0.0 : row->second;
  };
  costs.link = [link](int, int) { return link; };
  return costs;
}

CostModel unit_costs() {
  return table_costs({{{Kind::fwd, -1}, 1},
                      {{Kind::refwd, -1}, 1},
                      {{Kind::bwd, -1}, 1},
                      {{Kind::bwd_input, -1}, 1},
                      {{Kind::bwd_weight, -1}, 1},
                      {{Kind::step, -1}, 1}},
                     {});
}

static double rounds_of(const Program& program, Kind kind, std::size_t lanes) {
  if (kind == Kind::norm || kind == Kind::loss) return 2 * std::ceil(std::log2(static_cast<double>(lanes)));
  if (kind == Kind::reduce_tied) return static_cast<double>(lanes - 1);
  return program.replicas - 1;
}

double exchange_seconds(const Program& program, const CostModel& costs, const std::vector<Place>& parties) {
  const auto at = [&](const Place& p) -> const Instruction& { return program.lanes[p.lane][p.index]; };
  std::vector<int> lanes;
  for (const Place& party : parties) lanes.push_back(static_cast<int>(party.lane));
  if (costs.exchange_seconds) return costs.exchange_seconds(at(parties[0]), lanes);
  const double rounds = rounds_of(program, at(parties[0]).kind, lanes.size());
  if (rounds == 0 || !costs.link) return 0;
  std::int64_t bytes = 0;
  for (const Place& party : parties) bytes = std::max(bytes, at(party).bytes);
  double slowest = 0;
  for (std::size_t p = 0; p < lanes.size(); ++p) {
    const Link wire = costs.link(lanes[p], lanes[(p + 1) % lanes.size()]);
    slowest = std::max(slowest, rounds * wire.latency_seconds + static_cast<double>(bytes) / wire.bytes_per_second);
  }
  return slowest;
}

}  // namespace troika::schedule
