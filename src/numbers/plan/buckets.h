// The flat buffers in which a rank keeps the parameters of a segment.
#pragma once

#include <vector>

#include "plan/job.h"
#include "plan/stages.h"
#include "shape/shard_plan.h"

namespace troika::plan {

// own: the segment's parameters. table: of the head of a tied model, its copy of the table. shared_table: where the
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
