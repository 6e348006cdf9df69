// The plan of a recorded run with other hosts, schedule or microbatches.
#pragma once

#include "base/language.h"
#include "planner/changes.h"
#include "planner/recording.h"

namespace troika::planner {

struct ChangedPlan {
  plan::Plan plan;
  std::vector<int> host_of_rank;     // of each grid rank, an index into Recording::hosts; those beyond it are new
  std::vector<double> host_factors;  // by host: it computes so many times as fast
  std::vector<base::Text> notes;
};

// Hosts come and go at the end, with as many ranks as the first has: in data parallelism where the run has it or is one
// rank, else as stages of the pipeline. Data-parallel ranks keep their microbatches in all, as near as these divide; a
// pipeline keeps its batch. Stages and shares that were stated stand as long as their number does; an order that a
// schedule file gave does not. ConfigError for a host that is not there and for what the settings do not allow.
ChangedPlan changed_plan(const Recording& recording, const Changes& changes);

}  // namespace troika::planner
