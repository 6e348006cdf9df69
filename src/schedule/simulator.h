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
  // Seconds the lane's processor works on an instruction; for offload and fetch the seconds of the copy, which runs in
  // the background, one after another per lane. Sends, receives and gathers take the processor no time.
  std::function<double(const Instruction&)> seconds;
  std::function<Link(int from_lane, int to_lane)> link;
  // Seconds of an exchange (reduce_grads, reduce_tied, norm, gather_params) once all its lanes have come. Default, with
  // n lanes, the slowest link between neighbours in lane order (as a ring), latency a and seconds per byte b:
  // reduce_grads, reduce_tied: 2(n-1)(a + bytes/n b); gather_params: (n-1)(a + bytes/n b);
  // norm: 2 ceil(log2 n) (a + bytes b).
  std::function<double(const Instruction&, const std::vector<int>& lanes)> exchange_seconds;
};

// Costs from a table by (kind, stage); stage -1 stands for all stages of the kind that have no row; no row: 0.
using CostTable = std::map<std::pair<Kind, int>, double>;
CostModel table_costs(const CostTable& table, const Link& link);

// fwd, refwd, bwd, bwd_input, bwd_weight and step take 1 s, everything else 0, links cost nothing.
CostModel unit_costs();

// Deterministic and event-driven, by the waiting rules of checker.h. A message starts when both ends have posted and
// the sender's earlier messages have left (a lane's outgoing messages serialise); it occupies the link for
// bytes/bytes_per_second and arrives latency_seconds later. Messages and exchanges do not slow each other. The trace
// has, per lane, `compute` for every instruction that computes, `wait` where the lane stood still, and `transfer` from
// the start of a send, receive, gather or copy to its completion. world_rank = lane; the first event begins at 0.
// BugError names the lanes and instructions of a deadlock, and what has no partner.
StepTrace simulate(const Program& program, const CostModel& costs);

}  // namespace troika::schedule
