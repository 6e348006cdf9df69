#include "planner/replay.h"

#include <algorithm>
#include <cmath>

#include "plan/instruction_units.h"
#include "schedule/simulate/simulator.h"

namespace troika::planner {
namespace {

using schedule::Instruction;

double exchange_of(const Instruction& i, std::size_t ranks, double facts, const schedule::Link& link) {
  const bool of_world = i.kind == schedule::Kind::norm;
  const double bytes = of_world ? facts : static_cast<double>(i.bytes);
  if (ranks < 2 || bytes == 0) return 0;
  const double rounds = of_world ? 2 * std::ceil(std::log2(static_cast<double>(ranks))) : 1;
  return rounds * link.latency_seconds + bytes / link.bytes_per_second;
}

}  // namespace

bool cross_hosts(const std::vector<int>& host_of_rank, const std::vector<int>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
    return host_of_rank[static_cast<std::size_t>(rank)] != host_of_rank[static_cast<std::size_t>(ranks.front())];
  });
}

schedule::StepTrace simulate(const Replay& replay) {
  const auto& hosts = replay.host_of_rank;
  const bool one_host =
      std::count(hosts.begin(), hosts.end(), hosts.front()) == static_cast<std::ptrdiff_t>(hosts.size());
  const auto link_of = [&](const std::vector<int>& ranks) {
    return one_host || cross_hosts(hosts, ranks) ? replay.links.between : replay.links.inside;
  };
  schedule::CostModel costs;
  costs.seconds = [&](int rank, const Instruction& i) {
    const Taken taken = replay.taken(rank, i);
    const auto host = static_cast<std::size_t>(hosts[static_cast<std::size_t>(rank)]);
    return taken.own / replay.host_factors[host] + taken.inside * replay.inside_factor;
  };
  costs.link = [&](int from, int to) { return link_of({from, to}); };
  costs.exchange_seconds = [&, facts = plan::norm_bytes(*replay.plan)](const Instruction& i,
                                                                       const std::vector<int>& ranks) {
    return exchange_of(i, ranks.size(), facts, link_of(ranks));
  };
  return schedule::simulate(replay.plan->program, costs);
}

}  // namespace troika::planner
