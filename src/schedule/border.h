// Small facts about where the stages of a program meet.
#pragma once

#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

inline int first_microbatch_of(const Program& program, int dp_rank) {
  return dp_rank * (program.microbatches / program.dp);
}

// True when stage `left` and stage left+1 exist and sit on different pp ranks, so that a message crosses.
inline bool crosses_lanes(const Program& program, int left) {
  if (left < 0 || left + 1 >= program.stages()) return false;
  const auto at = static_cast<std::size_t>(left);
  return program.pp_rank_of_stage[at] != program.pp_rank_of_stage[at + 1];
}

inline bool tied_on_one_lane(const Program& program) {
  return program.pp_rank_of_stage.front() == program.pp_rank_of_stage.back();
}

// The stages for which the lane must have reduce_tied: the first, the last, once when one lane holds both.
inline std::vector<int> tied_stages_of(const Program& program, int lane) {
  std::vector<int> stages;
  const int pp_rank = lane / program.dp;
  if (program.tied && program.pp_rank_of_stage.front() == pp_rank) stages.push_back(0);
  if (program.tied && program.pp_rank_of_stage.back() == pp_rank && !tied_on_one_lane(program))
    stages.push_back(program.stages() - 1);
  return stages;
}

}  // namespace troika::schedule
