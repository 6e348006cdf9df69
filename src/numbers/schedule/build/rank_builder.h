// The shared part of builders: from a rank's order of passes to its instructions, in a chain of small steps.
#pragma once

#include <vector>

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

// One function per row of TROIKA_SCHEDULES (config/choices.h): the order in which a pp rank computes (schedules.cc).
#define TROIKA_DEFINITION(name, word) ScheduleDefinition name();
TROIKA_SCHEDULES(TROIKA_DEFINITION)
#undef TROIKA_DEFINITION

// The input of the steps.
struct RankToBuild {
  const Program& program;
  const StepShape& shape;
  int rank;

  int dp_rank() const { return rank % program.dp; }
  bool several_replicas() const { return program.replicas > 1; }
  // Reductions begin behind the backwards they sum, not at the end.
  bool reduces_early() const {
    return program.reduces_each_microbatch() || (several_replicas() && shape.overlap == Overlap::on);
  }
};

// All steps. Bytes are set afterwards (set_bytes).
std::vector<Instruction> instructions_of(const RankToBuild& rank, const Order& order);

}  // namespace troika::schedule
