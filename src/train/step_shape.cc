#include "train/step_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "executor/bucket.h"
#include "model/adapter.h"
#include "schedule/checker.h"
#include "schedule/partition.h"
#include "sharding/canonical_sum.h"

namespace troika::train {
namespace {

// Every coordinate of one pp rank.
std::vector<mesh::Coordinate> coordinates_of_stage(const mesh::Shape& shape, int pp_rank) {
  std::vector<mesh::Coordinate> all;
  for (int rank = 0; rank < shape.world(); ++rank) {
    const mesh::Coordinate at = mesh::coordinate_of(shape, rank);
    if (at.pp == pp_rank) all.push_back(at);
  }
  return all;
}

schedule::SegmentBytes segment_bytes(const Plan& plan, int segment, const mesh::Coordinate& at) {
  const sharding::SumShape sum = plan.sum_shape(at);
  const std::int64_t others = sum.place.count() - 1;
  schedule::SegmentBytes bytes;
  for (const BucketShape& bucket : buckets_of(plan, segment, plan.tensor_share(at))) {
    const sharding::ShardPlan shards = shard_plan(plan, bucket);
    if (bucket.trained) bytes.gradients_sent += sharding::CanonicalSum::reduce_bytes_sent(shards, sum);
    const bool updated = bucket.has_values && bucket.trained;
    if (updated) bytes.totals_sent += sharding::CanonicalSum::gather_bytes_sent(shards, sum);
    const bool sent =
        updated || plan.settings().parallel.zero == 3;  // then also what is frozen, and the head for itself
    if (sent) bytes.parameters_sent += others * shards.elements_of(sum.place.index()).count * plan.element_bytes();
  }
  return bytes;
}

schedule::SegmentBytes most(const schedule::SegmentBytes& a, const schedule::SegmentBytes& b) {
  return {std::max(a.gradients_sent, b.gradients_sent), std::max(a.totals_sent, b.totals_sent),
          std::max(a.parameters_sent, b.parameters_sent)};
}

std::int64_t tied_bytes(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const mesh::Coordinate& at : coordinates_of_stage(plan.shape, 0)) {
    const BucketShape table{model::tied_layout(plan.model(), plan.tensor_share(at))};
    bytes = std::max(bytes, 4 * shard_plan(plan, table).elements_of(plan.sum_shape(at).place.index()).count);
  }
  return bytes;
}

schedule::Bounds bounds_of(const Plan& plan, const schedule::Program& program) {
  const auto& p = plan.settings().parallel;
  if (!p.schedule_file.empty()) return {};
  return schedule::bounds(p.schedule, step_shape(plan, program.segment_begin));
}

}  // namespace

std::vector<int> cut_stages(const Plan& plan) {
  const auto& s = plan.settings();
  const int stages = static_cast<int>(plan.resolved.layout.pp * s.parallel.virtual_stages);
  schedule::Ranges ranges;
  if (!s.parallel.stage_layers.empty()) {
    ranges = schedule::partition_by_layers(s.parallel.stage_layers, s.model.layers);
  } else {
    const auto& given = s.parallel.stage_costs;
    ranges = schedule::partition_by_cost(
        given.empty() ? model::segment_costs(s.model, s.batch.seq_len, plan.trained) : given, stages);
  }
  std::vector<int> begin;
  for (const auto& [first, end] : ranges) begin.push_back(first);
  begin.push_back(ranges.back().second);
  return begin;
}

std::vector<BucketShape> buckets_of(const Plan& plan, int segment, const model::TensorShare& share) {
  using Part = BucketShape::Part;
  const bool trained = plan.trained.own(segment);
  std::vector<BucketShape> buckets{{model::segment_layout(plan.model(), segment, share), Part::own, true, trained}};
  if (plan.model().tie_embeddings && segment + 1 == model::segment_count(plan.model())) {
    buckets.push_back(
        {model::tied_layout(plan.model(), share), Part::table, !plan.embedding_and_head_together(), trained});
  }
  model::SegmentLayout adapters = model::adapter_layout(plan.model(), plan.trained.lora, segment, share);
  if (adapters.elements > 0) buckets.push_back({std::move(adapters), Part::adapter});
  return buckets;
}

sharding::ShardPlan shard_plan(const Plan& plan, const BucketShape& bucket) {
  return executor::shard_plan(bucket.layout, plan.shape.dp * plan.shape.cp);
}

schedule::StepShape step_shape(const Plan& plan, const std::vector<int>& segment_begin) {
  const auto& p = plan.settings().parallel;
  schedule::StepShape shape;
  shape.pp = plan.shape.pp;
  shape.dp = plan.shape.dp;
  shape.virtual_stages = static_cast<int>(p.virtual_stages);
  shape.replicas = plan.shape.dp * plan.shape.cp;
  shape.microbatches = static_cast<int>(plan.resolved.batch.microbatches);
  shape.zero = static_cast<int>(p.zero);
  shape.tied = plan.model().tie_embeddings && plan.trained.own(0);
  shape.first_trained = model::first_trained_segment(plan.model(), plan.trained);
  shape.recompute = p.recompute == "full" ? schedule::Recompute::full : schedule::Recompute::none;
  shape.overlap = p.overlap ? schedule::Overlap::on : schedule::Overlap::off;
  shape.offload = p.offload == "none" ? schedule::Offload::none : schedule::Offload::state;
  shape.segment_begin = segment_begin;
  shape.all_load = plan.documents_apart();
  shape.segments.resize(static_cast<std::size_t>(model::segment_count(plan.model())));
  for (int rank = 0; rank < plan.shape.world(); ++rank) {
    const mesh::Coordinate at = mesh::coordinate_of(plan.shape, rank);
    shape.boundary_bytes = std::max(shape.boundary_bytes, plan.rows(at) * plan.model().hidden * plan.element_bytes());
    if (at.pp > 0) continue;  // the same on every stage
    for (std::size_t g = 0; g < shape.segments.size(); ++g)
      shape.segments[g] = most(shape.segments[g], segment_bytes(plan, static_cast<int>(g), at));
  }
  if (shape.tied) shape.tied_bytes = tied_bytes(plan);
  return shape;
}

void prove(const Plan& plan, const schedule::Program& program) {
  const std::string& file = plan.settings().parallel.schedule_file;
  try {
    schedule::check(program, bounds_of(plan, program));
  } catch (const base::BugError& error) {
    if (file.empty()) throw;
    throw base::DataError(fmt::format("the schedule file '{}': {}", file, error.what()));
  }
}

}  // namespace troika::train
