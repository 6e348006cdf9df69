// The division of a pipeline: the segments of a model that each rank holds, and the flat buffers that contain them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/job.h"
#include "shape/shard_plan.h"

namespace troika::plan {

// The largest counts for which a step's messages have numbers (executor/message_tags.h).
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

// Ranges of segments: 0 is the embedding, the last one the final norm and head, and those between are transformer blocks.
using Ranges = std::vector<std::pair<int, int>>;  // per stage: segments [begin, end)

// The cut whose costliest stage is cheapest; among those the one with the least sum of squared stage costs; among those
// the one whose earlier stages are shorter. Every stage has at least one block when there are enough blocks, else at
// least one segment. Exact, O(stages x segments^2). ConfigError when there are more stages than segments; BugError when
// a cost is negative or not finite.
Ranges partition_by_cost(const std::vector<double>& segment_cost, int stages);

// By a given number of transformer blocks per stage; the first stage also has the embedding, the last one the head.
// ConfigError when the numbers do not add up to `layers` or a stage between the ends would be empty.
Ranges partition_by_layers(const std::vector<std::int64_t>& layers_per_stage, std::int64_t layers);

// A flat buffer in which a rank keeps parameters of a segment. own: the segment's parameters. table: of the head of a tied model, its copy of the table. shared_table: where the
// embedding lies on the same rank its buffer, which the head only reads and adds leaves to. adapter: a block's low-rank
// adapters.
struct BucketShape {
  enum class Part { own, table, shared_table, adapter };
  shape::SegmentLayout layout;
  Part part = Part::own;
  bool trained = true;          // has gradients and, where it lies, an optimizer
  int uses = 1, uses_here = 1;  // by segments: of all ranks, of this stage's
};

std::vector<BucketShape> buckets_of(const Job& job, const Stages& stages, int segment, const shape::TensorShare& share);

// How its gradients are added up, by the rank at a coordinate.
shape::SumShape sum_shape(const Job& job, const BucketShape& bucket, const mesh::Coordinate& at);

// How a bucket is sharded over the ranks that hold the same parameters.
shape::ShardPlan shard_plan(const Job& job, const BucketShape& bucket);

}  // namespace troika::plan
