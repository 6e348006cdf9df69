#include "plan/step_shape.h"

#include <algorithm>

#include "plan/buckets.h"
#include "shape/gradient_bytes.h"

namespace troika::plan {
namespace {

// Every coordinate of the first stage; the others have the same.
std::vector<mesh::Coordinate> coordinates_of_stage(const mesh::Shape& shape) {
  std::vector<mesh::Coordinate> all;
  for (int rank = 0; rank < shape.world() / shape.pp; ++rank) all.push_back(mesh::coordinate_of(shape, rank));
  return all;
}

// By the rank at `at` in one exchange of one bucket.
schedule::SegmentBytes bytes_sent(const Job& job, const BucketShape& bucket, const mesh::Coordinate& at) {
  const shape::SumShape sum = sum_shape(job, bucket, at);
  const shape::ShardPlan shards = shard_plan(job, bucket);
  // A table that two segments use goes round with the embedding, of ZeRO 2 and 3 each leaf by itself.
  const bool here = bucket.part != BucketShape::Part::shared_table;
  const bool updated = bucket.trained && here;
  const bool gathered =
      updated || job.settings().parallel.zero == 3;  // then also what is frozen, and the head for itself
  const bool reduced = bucket.trained && (here || sum.reduction == shape::Reduction::each_leaf);
  schedule::SegmentBytes bytes;
  if (reduced) bytes.gradients_sent = shape::reduce_bytes_sent(shards, sum);
  if (updated) bytes.totals_sent = shape::gather_bytes_sent(shards, sum);
  if (gathered) {
    bytes.parameters_sent = (job.replicas() - 1) * shards.elements_of(sum.place.index()).count * job.element_bytes();
  }
  return bytes;
}

schedule::SegmentBytes bytes_sent(const Job& job, const std::vector<BucketShape>& buckets, const mesh::Coordinate& at) {
  schedule::SegmentBytes sum;
  for (const BucketShape& bucket : buckets) {
    const schedule::SegmentBytes one = bytes_sent(job, bucket, at);
    sum.gradients_sent += one.gradients_sent;
    sum.totals_sent += one.totals_sent;
    sum.parameters_sent += one.parameters_sent;
  }
  return sum;
}

void raise(schedule::SegmentBytes* most, const schedule::SegmentBytes& other) {
  most->gradients_sent = std::max(most->gradients_sent, other.gradients_sent);
  most->totals_sent = std::max(most->totals_sent, other.totals_sent);
  most->parameters_sent = std::max(most->parameters_sent, other.parameters_sent);
}

std::vector<schedule::SegmentBytes> most_bytes_sent(const Job& job, const Stages& stages) {
  std::vector<schedule::SegmentBytes> most(static_cast<std::size_t>(shape::segment_count(job.model())));
  for (int tp = 0; tp < job.shape.tp; ++tp) {
    for (std::size_t g = 0; g < most.size(); ++g) {
      const auto buckets = buckets_of(job, stages, static_cast<int>(g), {tp, job.shape.tp});
      for (const mesh::Coordinate& at : coordinates_of_stage(job.shape)) {
        if (at.tp == tp) raise(&most[g], bytes_sent(job, buckets, at));
      }
    }
  }
  return most;
}

std::int64_t tied_bytes(const Job& job, const Stages& stages) {
  const int head = shape::segment_count(job.model()) - 1;
  std::int64_t bytes = 0;
  for (const mesh::Coordinate& at : coordinates_of_stage(job.shape)) {
    for (const BucketShape& bucket : buckets_of(job, stages, head, job.tensor_share(at))) {
      if (bucket.part == BucketShape::Part::table)
        bytes = std::max(bytes, shape::tied_bytes_sent(shard_plan(job, bucket), sum_shape(job, bucket, at)));
    }
  }
  return bytes;
}

// Blocks with equal parameters send alike.
std::vector<schedule::SegmentBytes> bytes_of_first_rank(const Job& job, const Stages& stages) {
  const int segments = shape::segment_count(job.model());
  std::vector<schedule::SegmentBytes> bytes(static_cast<std::size_t>(segments));
  for (int g = 0; g < segments; ++g) {
    const bool as_before = g > 1 && g + 1 < segments && job.trained.own(g) == job.trained.own(g - 1);
    const auto at = static_cast<std::size_t>(g);
    bytes[at] = as_before ? bytes[at - 1] : bytes_sent(job, buckets_of(job, stages, g, {0, job.shape.tp}), {});
  }
  return bytes;
}

schedule::StepShape shape_without_bytes(const Job& job, const Stages& stages) {
  const auto& p = job.settings().parallel;
  schedule::StepShape shape;
  shape.pp = job.shape.pp;
  shape.dp = job.shape.dp;
  shape.virtual_stages = static_cast<int>(p.virtual_stages);
  shape.replicas = job.replicas();
  shape.microbatches = static_cast<int>(job.resolved.batch.microbatches);
  shape.shares.assign(p.shares.begin(), p.shares.end());
  shape.zero = static_cast<int>(p.zero);
  shape.tied = job.tied();
  shape.first_trained = shape::first_trained_segment(job.model(), job.trained);
  shape.recompute = p.recompute == config::Recompute::full ? schedule::Recompute::full : schedule::Recompute::none;
  shape.overlap = p.overlap ? schedule::Overlap::on : schedule::Overlap::off;
  shape.offload = p.offload == config::Offload::none ? schedule::Offload::none : schedule::Offload::state;
  shape.segment_begin = stages.segment_begin;
  shape.pp_rank_of_stage = stages.pp_rank;
  shape.all_load = job.documents_apart();
  return shape;
}

}  // namespace

schedule::StepShape step_shape(const Job& job, const Stages& stages) {
  schedule::StepShape shape = shape_without_bytes(job, stages);
  shape.segments = most_bytes_sent(job, stages);
  for (const mesh::Coordinate& at : coordinates_of_stage(job.shape))
    shape.boundary_bytes = std::max(shape.boundary_bytes, job.boundary_bytes(at));
  if (shape.tied) shape.tied_bytes = tied_bytes(job, stages);
  return shape;
}

schedule::StepShape pipeline_shape(const Job& job, const Stages& stages) {
  schedule::StepShape shape = shape_without_bytes(job, stages);
  shape.microbatches /= shape.dp;
  shape.dp = 1;
  shape.segments = bytes_of_first_rank(job, stages);
  shape.boundary_bytes = job.boundary_bytes({});
  if (!shape.tied || stages.embedding_and_head_together()) return shape;
  for (const BucketShape& bucket : buckets_of(job, stages, shape::segment_count(job.model()) - 1, {0, job.shape.tp})) {
    if (bucket.part == BucketShape::Part::table)
      shape.tied_bytes = shape::tied_bytes_sent(shard_plan(job, bucket), sum_shape(job, bucket, {}));
  }
  return shape;
}

}  // namespace troika::plan
