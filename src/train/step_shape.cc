#include "train/step_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "schedule/checker.h"
#include "schedule/partition.h"
#include "schedule/sizes.h"
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

std::int64_t element_bytes(const Plan& plan) { return static_cast<std::int64_t>(c10::elementSize(plan.dtype())); }

schedule::SegmentBytes segment_bytes(const Plan& plan, int segment, const mesh::Coordinate& at) {
  const sharding::SumShape sum = plan.sum_shape(at);
  const std::int64_t others = sum.place.count() - 1;
  schedule::SegmentBytes bytes;
  for (const BucketShape& bucket : buckets_of(plan, segment, plan.tensor_share(at))) {
    const sharding::ShardPlan shards = shard_plan(plan, bucket);
    bytes.gradients_sent += sharding::CanonicalSum::reduce_bytes_sent(shards, sum);
    if (bucket.has_parameters) bytes.totals_sent += sharding::CanonicalSum::gather_bytes_sent(shards, sum);
    bytes.parameters_sent += others * shards.elements_of(sum.place.index()).count * element_bytes(plan);
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
    const BucketShape table{model::tied_layout(plan.model(), plan.tensor_share(at)), true};
    bytes = std::max(bytes, 4 * shard_plan(plan, table).elements_of(plan.sum_shape(at).place.index()).count);
  }
  return bytes;
}

void refuse_unlike(const std::string& path, const std::string& what, std::int64_t theirs, std::int64_t ours) {
  if (theirs == ours) return;
  throw base::DataError(fmt::format("the schedule file '{}' is for {} {}, but this run has {}", path, what, theirs, ours));
}

void refuse_unfetched(const std::string& path, const schedule::Program& program) {
  for (const auto& lane : program.lanes) {
    const auto fetches = [](const schedule::Instruction& i) { return i.kind == schedule::Kind::fetch; };
    if (std::any_of(lane.begin(), lane.end(), fetches)) continue;
    throw base::DataError(
        fmt::format("the schedule file '{}' has a lane that fetches no optimizer state, but this run offloads it; put "
                    "fetch and offload around every step of a segment, or leave --offload out",
                    path));
  }
}

// A file gives order and stages; what its instructions move follows from the run.
schedule::Program read_program(const Plan& plan, const std::string& path) {
  schedule::Program program;
  try {
    program = schedule::parse_program(base::read_file(path));
    schedule::check_fields(program);
  } catch (const base::ConfigError& error) {
    throw base::DataError(fmt::format("the schedule file '{}': {}", path, error.what()));
  } catch (const base::BugError& error) {
    throw base::DataError(fmt::format("the schedule file '{}': {}", path, error.what()));
  }
  const int segments = model::segment_count(plan.model());
  refuse_unlike(path, "pp", program.pp, plan.shape.pp);
  refuse_unlike(path, "dp", program.dp, plan.shape.dp);
  refuse_unlike(path, "dp x cp", program.replicas, plan.shape.dp * plan.shape.cp);
  refuse_unlike(path, "ZeRO stage", program.zero, plan.settings().parallel.zero);
  refuse_unlike(path, "microbatches", program.microbatches, plan.resolved.batch.microbatches);
  refuse_unlike(path, "segments", program.segments(), segments);
  refuse_unlike(path, "tied embeddings", program.tied ? 1 : 0, plan.model().tie_embeddings ? 1 : 0);
  if (plan.settings().parallel.offload != "none") refuse_unfetched(path, program);
  return program;
}

void set_bytes(const schedule::StepShape& shape, schedule::Program* program) {
  using schedule::Kind;
  for (auto& lane : program->lanes) {
    for (schedule::Instruction& i : lane) {
      const int first = i.segment >= 0 || i.stage < 0 ? i.segment : program->first_segment(i.stage);
      const int end = i.segment >= 0 || i.stage < 0 ? i.segment + 1 : program->end_segment(i.stage);
      const auto sum = [&](std::int64_t schedule::SegmentBytes::*of) {
        std::int64_t bytes = 0;
        for (int g = first; g < end; ++g) bytes += shape.segments[static_cast<std::size_t>(g)].*of;
        return program->replicas > 1 ? bytes : 0;
      };
      const bool between_stages = i.kind == Kind::send_act || i.kind == Kind::recv_act || i.kind == Kind::send_grad ||
                                  i.kind == Kind::recv_grad;
      if (between_stages) i.bytes = shape.boundary_bytes;
      if (i.kind == Kind::reduce_grads) i.bytes = sum(&schedule::SegmentBytes::gradients_sent);
      if (i.kind == Kind::gather_grads) i.bytes = sum(&schedule::SegmentBytes::totals_sent);
      if (i.kind == Kind::gather_params) i.bytes = sum(&schedule::SegmentBytes::parameters_sent);
      if (i.kind == Kind::reduce_tied)
        i.bytes = program->pp_rank_of_stage.front() == program->pp_rank_of_stage.back() ? 0 : shape.tied_bytes;
    }
  }
}

schedule::Bounds bounds_of(const Plan& plan, const schedule::Program& program) {
  const auto& p = plan.settings().parallel;
  if (!p.schedule_file.empty()) return {};
  return schedule::bounds(p.schedule, step_shape(plan, program.segment_begin));
}

}  // namespace

std::vector<int> cut_stages(const config::Resolved& resolved) {
  const auto& s = resolved.settings;
  const int stages = static_cast<int>(resolved.layout.pp * s.parallel.virtual_stages);
  schedule::Ranges ranges;
  if (!s.parallel.stage_layers.empty()) {
    ranges = schedule::partition_by_layers(s.parallel.stage_layers, s.model.layers);
  } else {
    const auto& given = s.parallel.stage_costs;
    ranges = schedule::partition_by_cost(given.empty() ? model::segment_costs(s.model, s.batch.seq_len) : given, stages);
  }
  std::vector<int> begin;
  for (const auto& [first, end] : ranges) begin.push_back(first);
  begin.push_back(ranges.back().second);
  return begin;
}

std::vector<BucketShape> buckets_of(const Plan& plan, int segment, const model::TensorShare& share) {
  std::vector<BucketShape> buckets{{model::segment_layout(plan.model(), segment, share), true}};
  if (plan.model().tie_embeddings && segment + 1 == model::segment_count(plan.model()))
    buckets.push_back({model::tied_layout(plan.model(), share), !plan.embedding_and_head_together()});
  return buckets;
}

sharding::ShardPlan shard_plan(const Plan& plan, const BucketShape& bucket) {
  std::vector<std::int64_t> parts;
  for (const model::Slot& slot : bucket.layout.slots) parts.push_back(slot.elements());
  return {parts, plan.shape.dp * plan.shape.cp};
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
  shape.tied = plan.model().tie_embeddings;
  shape.recompute = p.recompute == "full" ? schedule::Recompute::full : schedule::Recompute::none;
  shape.overlap = p.overlap ? schedule::Overlap::on : schedule::Overlap::off;
  shape.offload = p.offload == "none" ? schedule::Offload::none : schedule::Offload::state;
  shape.segment_begin = segment_begin;
  shape.segments.resize(static_cast<std::size_t>(model::segment_count(plan.model())));
  for (int rank = 0; rank < plan.shape.world(); ++rank) {
    const mesh::Coordinate at = mesh::coordinate_of(plan.shape, rank);
    shape.boundary_bytes =
        std::max(shape.boundary_bytes, plan.rows(at) * plan.model().hidden * element_bytes(plan));
    if (at.pp > 0) continue;  // the same on every stage
    for (std::size_t g = 0; g < shape.segments.size(); ++g)
      shape.segments[g] = most(shape.segments[g], segment_bytes(plan, static_cast<int>(g), at));
  }
  if (shape.tied) shape.tied_bytes = tied_bytes(plan);
  return shape;
}

schedule::Program step_program(const Plan& plan) {
  const auto& p = plan.settings().parallel;
  if (p.schedule_file.empty()) return schedule::build(p.schedule, step_shape(plan, cut_stages(plan.resolved)));
  schedule::Program program = read_program(plan, p.schedule_file);
  set_bytes(step_shape(plan, program.segment_begin), &program);
  return program;
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
