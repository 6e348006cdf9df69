// What instructions and messages cost in a simulation.
#pragma once

#include <functional>
#include <vector>

#include "schedule/check/dependencies.h"
#include "schedule/instruction/program.h"
#include "schedule/simulate/link.h"

namespace troika::schedule {

// Ranks that share processors: of the computations under way on one host so many go on at full speed; where there are more they
// share them evenly, and each takes longer.
struct Processors {
  std::vector<int> host_of_rank;  // empty: every rank has its own
  std::vector<double> at_once;    // by host
};

// Every member may be left empty: then it costs nothing (exchange_seconds: then the formula below).
struct CostModel {
  // Seconds the rank's processor works on an instruction (for an exchange or message: beside its transfer). For fetch
  // and offload the seconds of the copy instead, which runs in the background, one after another per rank.
  std::function<double(int rank, const Instruction&)> seconds;
  // link(r, r) is between the replicas of one rank.
  std::function<Link(int from_rank, int to_rank)> link;
  // Seconds of an exchange (Role::exchange, Role::blocking_exchange) once all its ranks have come.
  // Default, over the slowest link between neighbours in rank order (as a ring), with the most bytes that one of them
  // sends: rounds x latency + bytes / bytes_per_second. Rounds: replicas-1 among replicas, 1 for the two ranks of a
  // tied embedding, 2 ceil(log2 n) for n ranks of the world; without rounds nothing is sent and it takes no time.
  std::function<double(const Instruction&, const std::vector<int>& ranks)> exchange_seconds;
  Processors processors;
};

// Every computation and step take 1 s, everything else 0 (Traits::unit_seconds), links cost nothing.
CostModel unit_costs();

// How long an exchange takes, by the formula above.
double exchange_seconds(const Program& program, const CostModel& costs, const std::vector<Place>& parties);

}  // namespace troika::schedule
