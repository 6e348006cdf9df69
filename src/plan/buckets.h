// The flat buffers in which a rank keeps the parameters of a segment.
#pragma once

#include <vector>

#include "plan/job.h"
#include "plan/stages.h"
#include "shape/shard_plan.h"

namespace troika::plan {

// own: the segment's parameters. table: for the head of a tied model, the table's second use. adapter: a block's low-rank
// adapters.
struct BucketShape {
  enum class Part { own, table, adapter };
  shape::SegmentLayout layout;
  Part part = Part::own;
  bool has_values = true;  // false: the rank's embedding has them
  bool trained = true;     // has gradients, and with values an optimizer
};

std::vector<BucketShape> buckets_of(const Job& job, const Stages& stages, int segment, const shape::TensorShare& share);

// How a bucket is sharded over the ranks that hold the same parameters.
shape::ShardPlan shard_plan(const Job& job, const BucketShape& bucket);

}  // namespace troika::plan
