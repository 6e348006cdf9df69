// Which ranks of a pipeline hold which segments of a model.
#pragma once

#include <vector>

#include "plan/job.h"

namespace troika::plan {

// What a step's messages have numbers for (executor/message_tags.h).
inline constexpr int most_microbatches = 1 << 20, most_stages = 1 << 9;

struct Stages {
  std::vector<int> segment_begin;  // the first segment of each stage, then the end
  std::vector<int> pp_rank;        // of each stage

  int count() const { return static_cast<int>(pp_rank.size()); }
  bool embedding_and_head_together() const { return pp_rank.front() == pp_rank.back(); }  // on one pp rank
  std::vector<int> segments_of(int pp_rank_of_interest) const;                            // ascending by stage
};

// Stage s on pp rank s % pp; cut by the given layers, the given or measured costs, or the model's multiply-adds.
Stages cut_stages(const Job& job);

Stages stages_of(const schedule::Program& program);

}  // namespace troika::plan
