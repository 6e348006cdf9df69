// The schedules: in which order a pp rank computes. Everything else of a program follows from that (rank_builder.h). A
// schedule is a file here that defines its function, and its row in config/choices.h.
#pragma once

#include <vector>

#include "config/choices.h"
#include "schedule/build/builder.h"

namespace troika::schedule {

// Passes of one pp rank, each over a whole stage (fwd, and bwd or bwd_input and bwd_weight). The microbatch is the
// index within the share, 0 .. count-1, equal on every dp rank. The backwards of a stage ascend.
using Order = std::vector<Instruction>;

inline Instruction pass(Kind kind, int microbatch, int stage) { return {kind, microbatch, stage, -1, 0}; }

struct ScheduleDefinition {
  enum class Stages { one_per_rank, several_per_rank };
  Stages stages;
  // `count` microbatches are in the share.
  Order (*order)(const StepShape&, int pp_rank, int count);
  // Microbatches (of each stage) that a rank may hold between forward and backward.
  int (*in_flight)(const StepShape&, int pp_rank, int count);
};

// One function per row of TROIKA_SCHEDULES, each in a file of that name.
#define TROIKA_DEFINITION(name, word) ScheduleDefinition name();
TROIKA_SCHEDULES(TROIKA_DEFINITION)
#undef TROIKA_DEFINITION

}  // namespace troika::schedule
