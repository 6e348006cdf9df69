#include "plan/buckets.h"

#include <utility>

#include "shape/adapter.h"

namespace troika::plan {

std::vector<BucketShape> buckets_of(const Job& job, const Stages& stages, int segment,
                                    const shape::TensorShare& share) {
  using Part = BucketShape::Part;
  const bool trained = job.trained.own(segment);
  std::vector<BucketShape> buckets{{shape::segment_layout(job.model(), segment, share), Part::own, true, trained}};
  if (job.model().tie_embeddings && segment + 1 == shape::segment_count(job.model())) {
    buckets.push_back(
        {shape::tied_layout(job.model(), share), Part::table, !stages.embedding_and_head_together(), trained});
  }
  shape::SegmentLayout adapters = shape::adapter_layout(job.model(), job.trained.lora, segment, share);
  if (adapters.elements > 0) buckets.push_back({std::move(adapters), Part::adapter});
  return buckets;
}

shape::ShardPlan shard_plan(const Job& job, const BucketShape& bucket) {
  return shape::shard_plan(bucket.layout, job.replicas());
}

}  // namespace troika::plan
