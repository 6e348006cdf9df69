// The time a program takes, without running it.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "schedule/instruction.h"
#include "schedule/trace.h"

namespace troika::schedule {

struct Link {  // from one lane to another; links are full duplex
  double latency_seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
};

// Every member may be left empty: then it costs nothing (exchange_seconds: then the formula below).
struct CostModel {
  // Seconds the lane's processor works on an instruction (for an exchange or message: beside its transfer). For fetch
  // and offload the seconds of the copy instead, which runs in the background, one after another per lane.
  std::function<double(const Instruction&)> seconds;
  // link(l, l) is between the replicas of one lane.
  std::function<Link(int from_lane, int to_lane)> link;
  // Seconds of an exchange (gather_params, reduce_grads, gather_grads, reduce_tied, norm) once all its lanes have come.
  // Default, over the slowest link between neighbours in lane order (as a ring), with the most bytes that one of them
  // sends: rounds x latency + bytes / bytes_per_second. Rounds: replicas-1 for the first three, 1 for reduce_tied of
  // two lanes, 2 ceil(log2 n) for norm of n lanes; without rounds nothing is sent and it takes no time.
  std::function<double(const Instruction&, const std::vector<int>& lanes)> exchange_seconds;
};

// Costs from a table by (kind, stage); stage -1 stands for all stages of the kind that have no row; no row: 0.
using CostTable = std::map<std::pair<Kind, int>, double>;
CostModel table_costs(const CostTable& table, const Link& link);

// fwd, refwd, bwd, bwd_input, bwd_weight and step take 1 s, everything else 0, links cost nothing.
CostModel unit_costs();

// Deterministic and event-driven, by the waiting rules of checker.h. Every lane has one outgoing link for messages and
// exchanges alike, which serve one after the other: a message starts when both ends have posted and the sender's link
// is free, occupies it for bytes/bytes_per_second and arrives latency_seconds later; an exchange starts when all lanes
// have come and all their links are free, and occupies them to its end. Only reduce_tied and norm stop their lanes
// meanwhile.
//
// The trace has, per lane, `compute` for every instruction that computes, `wait` where the lane stood still (named
// after the instruction that waited; at the end of the lane after what completes last), and `transfer` from the start
// of a message, exchange or copy to its completion. world_rank = lane; the first event begins at 0. BugError names the
// lanes and instructions of a deadlock, what has no partner, and what check_fields refuses (sizes.h).
StepTrace simulate(const Program& program, const CostModel& costs);

}  // namespace troika::schedule
