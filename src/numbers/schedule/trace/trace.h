// The events of each rank and their times: written by the simulator and by real runs in one form.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "schedule/instruction/program.h"

namespace troika::schedule {

struct Link {  // from one rank to another; links are full duplex
  double latency_seconds = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
};

// One interval on one rank. Seconds on one clock common to all ranks (the writer aligns them).
struct Event {
  enum class Activity { compute, wait, transfer };
  Instruction instruction;  // what was executed; for `wait`, the one that waited
  Activity activity = Activity::compute;
  double begin_seconds = 0;
  double end_seconds = 0;
};
// compute:  the rank's processor worked on the instruction (fwd, bwd, step, the adds of reduce_grads, ...).
// wait:     the rank waited inside that instruction for a transfer or a peer.
// transfer: a message was under way (from start to known completion); may overlap compute and is not exclusive.

struct RankTimeline {
  int grid_rank = 0;  // of the pp x dp grid
  int world_rank = 0;
  std::string host;
  std::vector<Event> events;  // by begin_seconds
};

struct StepTrace {
  std::int64_t step = 0;
  std::vector<RankTimeline> ranks;
  std::optional<Link> link{};  // between neighbours, as the run measured it before its steps
};

}  // namespace troika::schedule
