// What builders share: the frame of a program, and everything of a lane that follows from its order of computations.
#pragma once

#include <vector>

#include "schedule/builder.h"
#include "schedule/instruction.h"

namespace troika::schedule {

// The program without instructions: one stage per pp rank, empty lanes. ConfigError when the shape is impossible.
Program frame(const PipelineShape& shape);

// The global microbatches of a dp rank, ascending.
std::vector<int> share(const Program& program, int dp_rank);

// A lane's instructions from its computations in order (fwd, refwd, bwd, bwd_input, bwd_weight): adds loads, early
// receives, sends, and the tail of reductions, norm and step. Any number of stages per lane.
std::vector<Instruction> emit_lane(const Program& program, const PipelineShape& shape, int lane,
                                   const std::vector<Instruction>& computations);

inline Instruction compute(Kind kind, int microbatch, int stage) { return {kind, microbatch, stage, -1, 0}; }

}  // namespace troika::schedule
