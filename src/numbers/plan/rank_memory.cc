#include "plan/memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "plan/stages.h"
#include "schedule/check/in_flight.h"
#include "schedule/instruction/placement.h"
#include "shape/gradient_bytes.h"
#include "shape/gpu_chunks.h"

namespace troika::plan {
namespace {

using schedule::Instruction;
using schedule::Kind;

struct BucketNumbers {
  shape::ShardPlan shards;
  std::int64_t elements = 0, own = 0;  // of shards; own: of this rank's range
  std::int64_t largest_piece = 0;
  BucketShape::Part part = BucketShape::Part::own;
  bool trained = true;
  shape::SumShape sum;

  bool lies_here() const { return part != BucketShape::Part::shared_table; }
};

bool operator==(const BucketNumbers& a, const BucketNumbers& b) {
  return std::tie(a.shards, a.own, a.largest_piece, a.part, a.trained) ==
         std::tie(b.shards, b.own, b.largest_piece, b.part, b.trained);
}

// Everything that a walk along a grid rank reads of the world rank that walks. World ranks of one
// grid rank with equal numbers hold equal bytes.
struct RankNumbers {
  mesh::Coordinate at;
  int replica = 0;
  schedule::Bounds bounds;                            // what the passes of each segment hold
  std::int64_t logits_bytes = 0;                      // of a chunk, while the head computes its loss
  std::int64_t gpu_loss_bytes = 0;                    // the same on a GPU
  std::map<int, std::int64_t> gpu_block_bytes;        // by segment: of a block's backward there
  std::map<int, std::vector<BucketNumbers>> buckets;  // by segment
};

bool alike(const RankNumbers& a, const RankNumbers& b) {
  return a.replica == b.replica && a.bounds.saved_bytes == b.bounds.saved_bytes &&
         a.bounds.half_bytes == b.bounds.half_bytes && a.bounds.kept_bytes == b.bounds.kept_bytes &&
         a.logits_bytes == b.logits_bytes && a.gpu_block_bytes == b.gpu_block_bytes && a.buckets == b.buckets;
}

shape::MicrobatchShape microbatch_of(const Job& job, const mesh::Coordinate& at) {
  return {job.largest_rows(at), job.tensor_share(at), job.sequence_parallel(), job.precision()};
}

schedule::Bounds bytes_of_segments(const Job& job, const mesh::Coordinate& at) {
  auto saved = shape::segment_saved_bytes(job.model(), microbatch_of(job, at), job.saved_activations(), job.trained);
  schedule::Bounds bounds;
  bounds.saved_bytes = std::move(saved.whole);
  bounds.half_bytes = std::move(saved.half);
  bounds.kept_bytes.assign(bounds.saved_bytes.size(), job.boundary_bytes(at));
  bounds.kept_bytes.front() = 0;
  return bounds;
}

int head_of(const Job& job) { return shape::segment_count(job.model()) - 1; }

shape::OutputLossShape output_loss_of(const Job& job, const mesh::Coordinate& at) {
  const shape::TensorShare share = job.tensor_share(at);
  const bool trained = job.trains() && job.trained.own(head_of(job));
  using Weight = shape::OutputLossShape::Weight;
  return {job.largest_rows(at).M, job.model().hidden,
          shape::local_widths(job.model(), share).vocab.count, share.size, job.element_bytes(),
          trained ? Weight::trained : Weight::frozen};
}

RankNumbers numbers_of(const Job& job, const Stages& stages, const mesh::Coordinate& at) {
  const shape::OutputLossShape loss = output_loss_of(job, at);
  RankNumbers numbers{at,
                      job.sum_shape(at).place.index(),
                      bytes_of_segments(job, at),
                      shape::output_loss_chunk_bytes(loss),
                      gpu_operation_bytes(job, at, head_of(job)),
                      {},
                      {}};
  for (const int g : stages.segments_of(at.pp)) {
    if (g != head_of(job)) numbers.gpu_block_bytes[g] = gpu_operation_bytes(job, at, g);
    for (const BucketShape& bucket : buckets_of(job, stages, g, job.tensor_share(at))) {
      const shape::ShardPlan shards = shard_plan(job, bucket);
      const shape::SumShape sum = sum_shape(job, bucket, at);
      const bool is_kept = g + 1 == shape::segment_count(job.model()) && output_loss_keep(loss) == shape::LossKeep::gradients;
      const bool makes_pieces = sum.addition == shape::Addition::integers && !is_kept;
      numbers.buckets[g].push_back({shards, shards.elements(), shards.elements_of(numbers.replica).count,
                                    makes_pieces ? bucket.layout.largest_piece : bucket.layout.largest_held_piece,
                                    bucket.part, bucket.trained, sum});
    }
  }
  return numbers;
}

// Follows one grid rank's instructions as the executor runs them.
class Walk {
 public:
  Walk(const Job& job, const schedule::Program& program, const RankNumbers& numbers)
      : element_bytes_(job.element_bytes()),
        state_bytes_(job.optimizer().bytes(element_bytes_)),
        numbers_(numbers),
        program_(&program) {
    for (const auto& [segment, buckets] : numbers.buckets) {
      for (const BucketNumbers& bucket : buckets)
        segments_[segment].push_back({bucket, shape::GradientBytes(bucket.shards, bucket.sum, bucket.largest_piece)});
    }
    hold_parameters_and_state(job.state_place());
  }

  // One run of the program, which begins with what the one before has kept.
  void follow(const schedule::Program& program) {
    const int grid_rank = program.grid_rank(numbers_.at.pp, numbers_.at.dp);
    program_ = &program;
    in_flight_.emplace(program, numbers_.bounds, grid_rank);
    for (const Instruction& i : program.ranks[static_cast<std::size_t>(grid_rank)]) {
      for (const Instruction& part : schedule::InFlight::parts_of(program, i)) visit(part);
    }
  }

  const Memory& most() const { return most_; }

 private:
  struct Bucket {
    BucketNumbers numbers;
    shape::GradientBytes sum;
  };

  void hold_parameters_and_state(const shape::StatePlace& place) {
    const bool in_memory = place.kind != shape::StatePlace::Kind::file;
    for (const auto& [segment, buckets] : segments_) {
      for (const auto& [bucket, sum] : buckets) {
        if (!bucket.lies_here()) continue;
        now_.parameters += element_bytes_ * (program_->shards(3) ? bucket.own : bucket.elements);
        if (in_memory && bucket.trained) now_.state += state_of(bucket);
      }
    }
    note();
  }

  std::int64_t state_of(const BucketNumbers& bucket) const {
    return state_bytes_ * (program_->shards(1) ? bucket.own : bucket.elements);
  }

  void visit(const Instruction& i) {
    const schedule::Traits& row = schedule::traits(i.kind);
    const bool writes = row.passes == schedule::weight_pass;
    if (writes) write_leaves(i);  // its input is still there
    if (row.passes == schedule::input_pass) note_block(i);
    in_flight_->visit_part(i);
    if (row.passes == schedule::forward_pass) note_loss(i);
    finish_awaited(i);
    if (row.payload == schedule::Payload::segment_gradients) reduce(i);
    if (row.payload == schedule::Payload::segment_totals) gather_totals(i);
    if (row.payload == schedule::Payload::tied_gradient) include_other_stage(i);
    if (row.payload == schedule::Payload::segment_parameters && program_->shards(3)) gather(i.segment, 1);
    if (i.kind == Kind::free_params) gather(i.segment, -1);
    if (i.kind == Kind::step) step(i);
    if (i.kind == Kind::fetch) fetch(i, 1);
    note();
    if (i.kind == Kind::offload) fetch(i, -1);
  }

  void note_loss(const Instruction& i) {
    if (schedule::segments_of(*program_, i).end != program_->segments()) return;
    now_.activations = in_flight_->bytes();
    most_.note_loss(now_, numbers_.logits_bytes);
    most_.note_operation(now_, program_->evaluates() ? numbers_.logits_bytes : numbers_.gpu_loss_bytes);
  }

  void note_block(const Instruction& i) {
    if (i.segment == 0 || i.segment + 1 == program_->segments()) return;
    now_.activations = in_flight_->bytes();
    most_.note_operation(now_, numbers_.gpu_block_bytes.at(i.segment));
  }

  // The reductions that the instruction waits for; a reduction waits by itself, buffer by buffer.
  void finish_awaited(const Instruction& i) {
    if (schedule::traits(i.kind).payload == schedule::Payload::segment_gradients) return;
    const schedule::Scope scope = schedule::waits_for(i.kind, Kind::reduce_grads);
    if (scope == schedule::Scope::all) finish_all();
    if (scope == schedule::Scope::same_segments) each_sum(i, Buffers::here, [this](Bucket& one, int) { finish(one); });
    if (scope == schedule::Scope::tied_segments) finish(table_of(i.stage));
  }

  // The buffers of a segment: those that it holds, or all that its backward adds leaves to.
  enum class Buffers { here, written };

  template <class Visit>
  void each_sum(const Instruction& i, Buffers which, Visit visit) {
    const schedule::SegmentRange range = schedule::segments_of(*program_, i);
    for (int g = range.begin; g < range.end; ++g) {
      for (Bucket& bucket : segments_.at(g)) {
        if (!bucket.numbers.trained) continue;
        if (bucket.numbers.lies_here()) visit(bucket, g);
        if (!bucket.numbers.lies_here() && which == Buffers::written) visit(segments_.at(0).front(), g);
      }
    }
  }

  void change(Bucket& bucket, void (shape::GradientBytes::*call)()) {
    now_.gradients -= bucket.sum.held();
    (bucket.sum.*call)();
    now_.gradients += bucket.sum.held();
    note();
  }

  void finish(Bucket& bucket) {
    if (!bucket.sum.reducing()) return;
    change(bucket, &shape::GradientBytes::add_up);
    change(bucket, &shape::GradientBytes::make_range);
    change(bucket, &shape::GradientBytes::finish_reduce);
  }

  void finish_all() {
    for (auto& [segment, buckets] : segments_) {
      for (Bucket& bucket : buckets) finish(bucket);
    }
  }

  Bucket& table_of(int stage) {
    return stage == 0 ? segments_.at(0).front() : segments_.at(program_->segments() - 1)[1];
  }

  void write_leaves(const Instruction& i) {
    const bool waits = schedule::waits_for(i.kind, Kind::reduce_grads) == schedule::Scope::of_microbatch;
    if (waits && program_->reduces_each_microbatch()) finish_all();
    each_sum(i, Buffers::written, [this](Bucket& bucket, int segment) {
      change(bucket, segment == 0 ? &shape::GradientBytes::open_rows : &shape::GradientBytes::open);
      change(bucket, &shape::GradientBytes::make_sum);
      change(bucket, &shape::GradientBytes::close);
    });
  }

  void reduce(const Instruction& i) {
    const Buffers which = program_->reduces_each_microbatch() ? Buffers::written : Buffers::here;
    each_sum(i, which, [this](Bucket& bucket, int) {
      finish_all();
      change(bucket, &shape::GradientBytes::pack);
      change(bucket, &shape::GradientBytes::start_reduce);
    });
  }

  void gather_totals(const Instruction& i) {
    each_sum(i, Buffers::here, [this](Bucket& bucket, int) {
      change(bucket, &shape::GradientBytes::make_whole);
      change(bucket, &shape::GradientBytes::start_gather);
    });
  }

  void include_other_stage(const Instruction& i) {
    change(table_of(i.stage), &shape::GradientBytes::receive_other);
    change(table_of(i.stage), &shape::GradientBytes::include_other);
  }

  void step(const Instruction& i) {
    each_sum(i, Buffers::here, [this](Bucket& bucket, int) {
      change(bucket, &shape::GradientBytes::make_total);
      change(bucket, &shape::GradientBytes::total);
      change(bucket, &shape::GradientBytes::reset);
    });
  }

  void fetch(const Instruction& i, int change) {
    each_sum(i, Buffers::here, [&](Bucket& bucket, int) { now_.fetched += change * state_of(bucket.numbers); });
  }

  // The head of a tied model gathers the table too, for itself.
  void gather(int segment, int change) {
    for (const Bucket& bucket : segments_.at(segment))
      now_.parameters += change * element_bytes_ * bucket.numbers.elements;
  }

  void note() {
    now_.activations = in_flight_ ? in_flight_->bytes() : 0;
    most_.note(now_);
  }

  const std::int64_t element_bytes_, state_bytes_;  // of a parameter, of its optimizer state
  const RankNumbers& numbers_;
  const schedule::Program* program_;  // that is followed
  std::optional<schedule::InFlight> in_flight_;
  std::map<int, std::vector<Bucket>> segments_;
  Memory now_, most_;
};

Memory memory_of_rank(const Job& job, const Programs& programs, const RankNumbers& numbers) {
  Walk walk(job, programs.step, numbers);
  for (int step = 0; step < 2; ++step) walk.follow(programs.step);
  if (!programs.evaluation.ranks.empty()) walk.follow(programs.evaluation);
  Memory memory = walk.most();
  memory.program = program_bytes;
  return memory;
}

}  // namespace

std::int64_t gpu_operation_bytes(const Job& job, const mesh::Coordinate& at, int segment) {
  if (segment == 0) return 0;
  if (segment == head_of(job)) return shape::output_loss_gpu_bytes(output_loss_of(job, at));
  return shape::block_backward_bytes(job.model(), shape::block_kind(job.model(), segment), microbatch_of(job, at),
                                     config::repeatable(job.resolved.settings.parallel.reproducible));
}

Memory memory_at(const Job& job, const Stages& stages, const Programs& programs, const mesh::Coordinate& at) {
  return memory_of_rank(job, programs, numbers_of(job, stages, at));
}

std::vector<Memory> memory_of_grid_ranks(const Job& job, const Stages& stages, const Programs& programs) {
  std::vector<Memory> memory(programs.step.ranks.size());
  std::vector<std::vector<RankNumbers>> walked(memory.size());
  for (int rank = 0; rank < job.shape.world(); ++rank) {
    const auto grid_rank = static_cast<std::size_t>(mesh::grid_rank_of(job.shape, rank));
    RankNumbers numbers = numbers_of(job, stages, mesh::coordinate_of(job.shape, rank));
    const auto same = [&](const RankNumbers& other) { return alike(numbers, other); };
    if (std::any_of(walked[grid_rank].begin(), walked[grid_rank].end(), same)) continue;
    const Memory of_rank = memory_of_rank(job, programs, numbers);
    if (of_rank.total() > memory[grid_rank].total()) memory[grid_rank] = of_rank;
    walked[grid_rank].push_back(std::move(numbers));
  }
  return memory;
}

}  // namespace troika::plan
