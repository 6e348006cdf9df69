#include "schedule/simulate/cost_model.h"

#include <algorithm>
#include <cmath>

namespace troika::schedule {

CostModel unit_costs() {
  CostModel costs;
  costs.seconds = [](int, const Instruction& i) { return traits(i.kind).unit_seconds; };
  costs.link = [](int, int) { return Link{}; };
  return costs;
}

static double rounds_of(const Program& program, Kind kind, std::size_t ranks) {
  const Peers peers = traits(kind).peers;
  if (peers == Peers::world) return 2 * std::ceil(std::log2(static_cast<double>(ranks)));
  if (peers == Peers::tied_stages) return static_cast<double>(ranks - 1);
  return program.replicas - 1;
}

double exchange_seconds(const Program& program, const CostModel& costs, const std::vector<Place>& parties) {
  const auto at = [&](const Place& p) -> const Instruction& { return program.ranks[p.rank][p.index]; };
  std::vector<int> ranks;
  for (const Place& party : parties) ranks.push_back(static_cast<int>(party.rank));
  if (costs.exchange_seconds) return costs.exchange_seconds(at(parties[0]), ranks);
  const double rounds = rounds_of(program, at(parties[0]).kind, ranks.size());
  if (rounds == 0 || !costs.link) return 0;
  std::int64_t bytes = 0;
  for (const Place& party : parties) bytes = std::max(bytes, at(party).bytes);
  double slowest = 0;
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    const Link wire = costs.link(ranks[p], ranks[(p + 1) % ranks.size()]);
    slowest = std::max(slowest, rounds * wire.latency_seconds + static_cast<double>(bytes) / wire.bytes_per_second);
  }
  return slowest;
}

}  // namespace troika::schedule
