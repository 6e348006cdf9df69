// From a plan's settings to the shape of its step program.
#pragma once

#include <vector>

#include "model/layout.h"
#include "schedule/builder.h"
#include "sharding/shard_plan.h"
#include "train/plan.h"

namespace troika::train {

// Where the stages begin, and the end: by the given layers, the given or measured costs, or the model's multiply-adds.
std::vector<int> cut_stages(const Plan& plan);

// The buffers in which a rank keeps one segment: its own; for the head of a tied model the table's second use; for a
// block with adapters these.
struct BucketShape {
  enum class Part { own, table, adapter };
  model::SegmentLayout layout;
  Part part = Part::own;
  bool has_values = true;  // false: the rank's embedding has them
  bool trained = true;     // has gradients, and with values an optimizer
};
std::vector<BucketShape> buckets_of(const Plan& plan, int segment, const model::TensorShare& share);
sharding::ShardPlan shard_plan(const Plan& plan, const BucketShape& bucket);

// Needs resolved and shape of the plan. Bytes are those of the rank that sends most.
schedule::StepShape step_shape(const Plan& plan, const std::vector<int>& segment_begin);

// Checks a program: BugError for a built one, DataError naming the file for one that was read.
void prove(const Plan& plan, const schedule::Program& program);

}  // namespace troika::train
