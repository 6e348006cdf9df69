#include "plan/programs.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/run_files.h"
#include "base/say.h"
#include "schedule/check/checker.h"
#include "schedule/instruction/placement.h"
#include "shape/gradient_bytes.h"
#include "shape/layout.h"

namespace troika::plan {
namespace {

void refuse_unnumbered(std::int64_t microbatches, int stages) {
  if (microbatches <= most_microbatches && stages <= most_stages) return;
  throw base::ConfigError(
      base::say("a step of {} microbatches in {} stages is too large: at most {} microbatches (a larger --micro-batch-size makes fewer) and {} stages (a smaller --pp or --virtual-stages)", microbatches, stages, most_microbatches, most_stages));
}

// So few microbatches that they fit the samples, so many that the stages of a pipeline are busy.
std::int64_t evaluated_at_once(const Job& job, std::int64_t most_per_rank) {
  const std::int64_t dp = job.shape.dp, busy = job.shape.pp == 1 ? 4 : 4 * job.shape.pp;
  const std::int64_t all = (job.data.valid_samples - 1) / job.resolved.batch.micro + 1;
  return dp * std::min({(all - 1) / dp + 1, busy, most_per_rank});
}

}  // namespace

schedule::Program build_step_unchecked(const Job& job, const schedule::StepShape& shape) {
  refuse_unnumbered(shape.microbatches, shape.pp * shape.virtual_stages);
  return schedule::build(job.settings().parallel.schedule, shape);
}

schedule::Program build_step(const Job& job, const schedule::StepShape& shape) {
  schedule::Program program = build_step_unchecked(job, shape);
  schedule::check(program, schedule::bounds(job.settings().parallel.schedule, shape));
  return program;
}

schedule::Program complete_step(const Job& job, const schedule::StepShape& shape, schedule::Program written) {
  schedule::set_bytes(shape, &written);  // a file gives order and stages, the run what they move
  refuse_unnumbered(written.microbatches, written.stages());
  try {
    schedule::check(written, {});
  } catch (const schedule::UnsoundProgram& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", job.settings().parallel.schedule_file, error.text()));
  }
  return written;
}

schedule::Program build_evaluation(const Job& job, const schedule::StepShape& shape, std::int64_t most_per_rank) {
  schedule::StepShape round = shape;
  round.room = room_of_evaluation(job);
  round.microbatches = static_cast<int>(evaluated_at_once(job, most_per_rank)) * round.room;
  schedule::Program program = schedule::build_evaluation(round);
  refuse_unnumbered(program.microbatches, program.stages());
  schedule::check(program, schedule::bounds_of_evaluation(program));
  return program;
}

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

// 0 where the embedding lies on the same rank.
std::int64_t tied_bytes(const Job& job, const Stages& stages, const mesh::Coordinate& at) {
  for (const BucketShape& bucket : buckets_of(job, stages, shape::segment_count(job.model()) - 1, job.tensor_share(at)))
    if (bucket.part == BucketShape::Part::table)
      return shape::tied_bytes_sent(shard_plan(job, bucket), sum_shape(job, bucket, at));
  return 0;
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
  shape.room = job.room;
  shape.microbatches = static_cast<int>(job.resolved.batch.microbatches) * job.room;
  for (const std::int64_t share : p.shares) shape.shares.push_back(static_cast<int>(share) * job.room);
  shape.zero = static_cast<int>(p.zero);
  shape.tied = job.tied();
  shape.first_trained = shape::first_trained_segment(job.model(), job.trained);
  shape.recompute = p.recompute;
  shape.overlap = p.overlap ? schedule::Overlap::on : schedule::Overlap::off;
  shape.offload = p.offload;
  shape.segment_begin = stages.segment_begin;
  shape.pp_rank_of_stage = stages.pp_rank;
  return shape;
}

}  // namespace

schedule::StepShape step_shape(const Job& job, const Stages& stages) {
  schedule::StepShape shape = shape_without_bytes(job, stages);
  shape.segments = most_bytes_sent(job, stages);
  for (const mesh::Coordinate& at : coordinates_of_stage(job.shape)) {
    shape.boundary_bytes = std::max(shape.boundary_bytes, job.boundary_bytes(at));
    if (shape.tied) shape.tied_bytes = std::max(shape.tied_bytes, tied_bytes(job, stages, at));
  }
  return shape;
}

schedule::StepShape pipeline_shape(const Job& job, const Stages& stages) {
  schedule::StepShape shape = shape_without_bytes(job, stages);
  schedule::empty_program(shape);  // refuses what the whole world could not run
  shape.microbatches /= shape.dp;
  shape.dp = 1;
  shape.segments = bytes_of_first_rank(job, stages);
  shape.boundary_bytes = job.boundary_bytes({});
  if (shape.tied) shape.tied_bytes = tied_bytes(job, stages, {});
  return shape;
}

namespace {

void refuse_unlike(const std::string& path, base::Phrase what, std::int64_t theirs, std::int64_t ours) {
  if (theirs == ours) return;
  throw base::DataError(base::say("the schedule file '{}' is for {} {}, but this run has {}", path, base::say(what), theirs, ours));
}

void refuse_unfetched(const std::string& path, const schedule::Program& program) {
  for (std::size_t grid_rank = 0; grid_rank < program.ranks.size(); ++grid_rank) {
    std::set<int> fetched;
    for (const schedule::Instruction& i : program.ranks[grid_rank]) {
      if (i.kind == schedule::Kind::fetch) fetched.insert(i.segment);
    }
    for (const int stage : schedule::stages_of_rank(program, static_cast<int>(grid_rank))) {
      for (int g = program.first_segment(stage); g < program.end_segment(stage); ++g) {
        if (fetched.count(g) > 0) continue;
        throw base::DataError(base::say("the schedule file '{}': grid rank {} does not fetch the optimizer state of segment {}, but this run offloads it; put fetch and offload around every step of a segment, or leave --offload out", path, grid_rank, g));
      }
    }
  }
}

}  // namespace

schedule::Program read_program(const Job& job, const std::string& path) {
  schedule::Program program;
  try {
    program = schedule::parse_program(base::read_regular_file(path, base::most_program_bytes));
    schedule::check_fields(program);
  } catch (const base::ConfigError& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", path, base::text_of(error)));
  } catch (const schedule::UnsoundProgram& error) {
    throw base::DataError(base::say("the schedule file '{}': {}", path, error.text()));
  }
  if (program.evaluates()) {
    throw base::DataError(base::say("the schedule file '{}' is an evaluation program; give that of a training step", path));
  }
  const int segments = shape::segment_count(job.model());
  const std::int64_t room = program.microbatches == 2 * job.resolved.batch.microbatches ? 2 : 1;
  refuse_unlike(path, base::Phrase("pp"), program.pp, job.shape.pp);
  refuse_unlike(path, base::Phrase("dp"), program.dp, job.shape.dp);
  refuse_unlike(path, base::Phrase("dp x cp"), program.replicas, job.replicas());
  refuse_unlike(path, base::Phrase("ZeRO stage"), program.zero, job.settings().parallel.zero);
  refuse_unlike(path, base::Phrase("microbatches"), program.microbatches, job.resolved.batch.microbatches * room);
  for (int dp_rank = 0; dp_rank < program.dp; ++dp_rank) {
    const std::int64_t share = job.sum_shape({}).shares.at(static_cast<std::size_t>(dp_rank)) / job.room * room;
    refuse_unlike(path, base::Phrase("microbatches of a data-parallel rank"), program.share_size(dp_rank), share);
  }
  refuse_unlike(path, base::Phrase("segments"), program.segments(), segments);
  const int first_trained = shape::first_trained_segment(job.model(), job.trained);
  refuse_unlike(path, base::Phrase("first trained segment"), program.first_trained, first_trained);
  refuse_unlike(path, base::Phrase("tied embeddings"), program.tied ? 1 : 0, job.tied() ? 1 : 0);
  if (job.settings().parallel.offload != config::Offload::none) refuse_unfetched(path, program);
  return program;
}

}  // namespace troika::plan
