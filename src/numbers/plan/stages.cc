#include "plan/stages.h"

#include "schedule/build/partition.h"

namespace troika::plan {

static schedule::Ranges ranges_of(const Job& job, int stages) {
  const auto& parallel = job.settings().parallel;
  if (!parallel.stage_layers.empty()) return schedule::partition_by_layers(parallel.stage_layers, job.model().layers);
  if (!parallel.stage_costs.empty()) return schedule::partition_by_cost(parallel.stage_costs, stages);
  // Forwards alone, as an evaluation has them, cost the same share of the whole in every segment.
  const shape::Trained passes = job.trains() ? job.trained : shape::Trained{};
  return schedule::partition_by_cost(shape::segment_costs(job.model(), job.resolved.batch.seq_len, passes), stages);
}

Stages cut_stages(const Job& job) {
  const int count = job.shape.pp * static_cast<int>(job.settings().parallel.virtual_stages);
  const schedule::Ranges ranges = ranges_of(job, count);
  Stages stages;
  for (const auto& [first, end] : ranges) stages.segment_begin.push_back(first);
  stages.segment_begin.push_back(ranges.back().second);
  for (int stage = 0; stage < static_cast<int>(ranges.size()); ++stage) stages.pp_rank.push_back(stage % job.shape.pp);
  return stages;
}

Stages stages_of(const schedule::Program& program) { return {program.segment_begin, program.pp_rank_of_stage}; }

std::vector<int> Stages::segments_of(int pp_rank_of_interest) const {
  std::vector<int> segments;
  for (std::size_t stage = 0; stage < pp_rank.size(); ++stage) {
    if (pp_rank[stage] != pp_rank_of_interest) continue;
    for (int g = segment_begin[stage]; g < segment_begin[stage + 1]; ++g) segments.push_back(g);
  }
  return segments;
}

}  // namespace troika::plan
