#include "plan/buckets.h"

#include <utility>

#include "shape/adapter.h"

namespace troika::plan {

std::vector<BucketShape> buckets_of(const Job& job, const Stages& stages, int segment,
                                    const shape::TensorShare& share) {
  using Part = BucketShape::Part;
  const bool trained = job.trained.own(segment), together = stages.embedding_and_head_together();
  const bool tied = job.model().tie_embeddings, head = segment + 1 == shape::segment_count(job.model());
  std::vector<BucketShape> buckets{{shape::segment_layout(job.model(), segment, share), Part::own, trained}};
  if (tied && segment == 0) buckets.front().uses = 2;
  if (tied && segment == 0 && together) buckets.front().uses_here = 2;
  if (tied && head) {
    buckets.push_back({shape::tied_layout(job.model(), share), together ? Part::shared_table : Part::table, trained, 2,
                       together ? 2 : 1});
  }
  shape::SegmentLayout adapters = shape::adapter_layout(job.model(), job.trained.lora, segment, share);
  if (adapters.elements > 0) buckets.push_back({std::move(adapters), Part::adapter});
  return buckets;
}

shape::SumShape sum_shape(const Job& job, const BucketShape& bucket, const mesh::Coordinate& at) {
  shape::SumShape sum = job.sum_shape(at);
  sum.uses = bucket.uses;
  sum.uses_here = bucket.uses_here;
  return sum;
}

shape::ShardPlan shard_plan(const Job& job, const BucketShape& bucket) {
  return shape::shard_plan(bucket.layout, job.replicas(), job.optimizer().division);
}

}  // namespace troika::plan
