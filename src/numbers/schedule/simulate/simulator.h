// The time a program takes, without running it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedule/check/dependencies.h"
#include "schedule/instruction/program.h"
#include "schedule/trace/trace.h"

namespace troika::schedule {

// Ranks that share processors: of the computations under way on one host so many continue at full speed; where there are
// more they share them evenly, and each takes longer.
struct Processors {
  std::vector<int> host_of_rank;  // empty: every rank has its own
  std::vector<double> at_once;    // by host
};

// Costs of instructions and messages. Every member may be empty: then it costs nothing (exchange_seconds: then the formula below).
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

// Deterministic and event-driven, by the waiting rules of checker.h. Every rank has one outgoing link for messages and
// exchanges alike, which serve one after the other: a message starts when both ends have posted and the sender's link
// is free, occupies it for bytes/bytes_per_second and arrives latency_seconds later; an exchange starts when all ranks
// have come and all their links are free, and occupies them to its end. Only blocking exchanges (kinds.h) stop their
// ranks meanwhile. Computations of ranks that share processors share them evenly (Processors).
//
// The trace has, per rank, `compute` for every instruction that computes, `wait` where the rank waited (named
// after the instruction that waited; at the end of the rank after what completes last), and `transfer` from the start
// of a message, exchange or copy to its completion. world_rank = rank; the first event begins at 0. BugError names the
// ranks and instructions of a deadlock, what has no partner, and what check_fields refuses.
StepTrace simulate(const Program& program, const CostModel& costs);

// Nothing, and as soon as that is certain, when the step takes longer than `most_seconds`.
std::optional<StepTrace> simulate_within(const Program& program, const CostModel& costs, double most_seconds);

}  // namespace troika::schedule
