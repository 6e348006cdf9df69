// A recorded step, simulated again with a link and with hosts of other speeds.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "planner/recorded_seconds.h"
#include "planner/recording.h"
#include "schedule/simulate/link.h"
#include "schedule/trace/trace.h"

namespace troika::planner {

// Between ranks of two hosts, or, where all are on one, between these; and between ranks of one host among several.
struct Links {
  schedule::Link between, inside;
};

struct Replay {
  const plan::Plan* plan = nullptr;  // outlives it
  std::vector<int> host_of_rank;     // of its grid ranks
  std::function<Taken(int rank, const schedule::Instruction&)> taken;
  Links links;
  std::vector<double> host_factors;  // how many times as fast the host computes
  double inside_factor = 1;          // what tp and cp peers exchange inside passes takes so many times as long
};

bool cross_hosts(const std::vector<int>& host_of_rank, const std::vector<int>& ranks);

// Exchanges of replicas take the latency and the bytes of the rank that sends most, as all send at once; the step's sums 2
// ceil(log2 n) latencies and their bytes.
schedule::StepTrace simulate(const Replay& replay);

}  // namespace troika::planner
