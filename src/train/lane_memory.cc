#include "train/lane_memory.h"

#include <algorithm>
#include <map>
#include <optional>

#include "schedule/border.h"
#include "schedule/in_flight.h"
#include "sharding/sum_bytes.h"
#include "train/step_shape.h"

namespace troika::train {
namespace {

using schedule::Instruction;
using schedule::Kind;

struct BucketNumbers {
  std::int64_t elements = 0, own = 0;  // own: of this rank's range
  bool has_values = true, trained = true;
  sharding::SumBytes sum;
};

// What the passes of one segment hold on the rank at `at`.
schedule::Bounds bytes_of_segments(const Plan& plan, const mesh::Coordinate& at) {
  auto saved =
      model::segment_saved_bytes(plan.model(), plan.resolved.batch.micro, plan.positions(at), plan.tensor_share(at),
                                 plan.sequence_parallel(), plan.keep(), plan.element_bytes(), plan.trained);
  schedule::Bounds bounds;
  bounds.saved_bytes = std::move(saved.whole);
  bounds.half_bytes = std::move(saved.half);
  bounds.kept_bytes.assign(bounds.saved_bytes.size(), plan.rows(at) * plan.model().hidden * plan.element_bytes());
  bounds.kept_bytes.front() = 0;
  return bounds;
}

// Follows one lane's instructions as the executor runs them.
class Walk {
 public:
  Walk(const Plan& plan, const mesh::Coordinate& at)
      : plan_(plan), at_(at), program_(&plan.program), bounds_(bytes_of_segments(plan, at)) {
    const sharding::SumShape sum = plan.sum_shape(at);
    for (int stage = 0; stage < program_->stages(); ++stage) {
      if (program_->pp_rank_of_stage[static_cast<std::size_t>(stage)] != at.pp) continue;
      for (int g = program_->first_segment(stage); g < program_->end_segment(stage); ++g) {
        for (const BucketShape& bucket : buckets_of(plan, g, plan.tensor_share(at))) {
          const sharding::ShardPlan shards = shard_plan(plan, bucket);
          segments_[g].push_back({shards.elements(), shards.elements_of(sum.place.index()).count, bucket.has_values,
                                  bucket.trained, sharding::SumBytes(shards, sum)});
        }
      }
    }
    hold_parameters_and_state();
  }

  // One run of the program, which begins with what the one before has kept.
  void follow(const schedule::Program& program) {
    const int lane = program.lane(at_.pp, at_.dp);
    program_ = &program;
    in_flight_.emplace(program, bounds_, lane);
    for (const Instruction& i : program.lanes[static_cast<std::size_t>(lane)]) {
      for (const Instruction& part : schedule::InFlight::parts_of(program, i)) visit(part);
    }
  }

  const cost::Memory& most() const { return most_; }

 private:
  void hold_parameters_and_state() {
    const std::int64_t bytes = plan_.element_bytes();
    const std::int64_t state_bytes = bytes == 4 ? 8 : 12;  // m, v, and the master copy of half precision
    const bool in_memory = plan_.state_place().kind != optimizer::StatePlace::Kind::file;
    std::int64_t largest = 0;  // of the frozen ones, that the rank answers for
    for (const auto& [segment, buckets] : segments_) {
      for (const BucketNumbers& bucket : buckets) {
        if (!bucket.has_values) continue;
        const std::int64_t held = program_->shards(1) ? bucket.own : bucket.elements;
        now_.parameters += bytes * (program_->shards(3) ? bucket.own : bucket.elements);
        if (in_memory && bucket.trained) now_.state += state_bytes * held;
        if (!bucket.trained) largest = std::max(largest, held);
      }
    }
    note();
    if (bytes < 4) note_loading(4 * largest);
  }

  // Frozen values are set one buffer after the other by way of fp32 (frozen.h).
  void note_loading(std::int64_t bytes) {
    now_.parameters += bytes;
    note();
    now_.parameters -= bytes;
  }

  void visit(const Instruction& i) {
    if (i.kind == Kind::bwd_weight) change_sums(i, [](auto& sum) { sum.push(); });  // while its input is still there
    in_flight_->visit_part(i);
    if (i.kind == Kind::reduce_grads) {
      if (program_->reduces_each_microbatch()) finish_all();
      change_sums(i, [](auto& sum) { sum.start_reduce(); });
    }
    if (i.kind == Kind::gather_grads) change_sums(i, finish);
    if (i.kind == Kind::reduce_tied) finish_tied();
    if (i.kind == Kind::norm) finish_all();
    if (i.kind == Kind::reduce_tied && !plan_.embedding_and_head_together()) note_exchange_of_table(i.stage);
    if (i.kind == Kind::step) change_sums(i, [](auto& sum) { sum.reset(); });
    if (i.kind == Kind::gather_params && program_->shards(3)) gather(i.segment, 1);
    if (i.kind == Kind::free_params) gather(i.segment, -1);
    note();
  }

  static void finish(sharding::SumBytes& sum) {
    if (sum.reducing()) sum.finish_reduce();
  }

  template <class Change>
  void change_sum(BucketNumbers& bucket, Change change) {
    if (!bucket.trained) return;
    now_.gradients -= bucket.sum.held();
    change(bucket.sum);
    now_.gradients += bucket.sum.held();
  }

  void finish_all() {
    for (auto& [segment, buckets] : segments_) {
      for (BucketNumbers& bucket : buckets) change_sum(bucket, finish);
    }
  }

  void finish_tied() {
    for (const int segment : {0, program_->segments() - 1}) {
      if (segments_.count(segment) == 0) continue;
      for (BucketNumbers& bucket : segments_.at(segment)) change_sum(bucket, finish);
    }
  }

  template <class Change>
  void change_sums(const Instruction& i, Change change) {
    const schedule::SegmentRange range = schedule::segments_of(*program_, i);
    for (int g = range.begin; g < range.end; ++g) {
      for (BucketNumbers& bucket : segments_.at(g)) change_sum(bucket, change);
      note();
    }
  }

  // Room for the other stage's gradient of the table, which stands last on the head's stage.
  void note_exchange_of_table(int stage) {
    const std::int64_t bytes = 4 * segments_.at(stage == 0 ? 0 : program_->segments() - 1).back().own;
    now_.gradients += bytes;
    note();
    now_.gradients -= bytes;
  }

  // The head of a tied model gathers the table too, for itself.
  void gather(int segment, int change) {
    for (const BucketNumbers& bucket : segments_.at(segment))
      now_.parameters += change * plan_.element_bytes() * bucket.elements;
  }

  void note() {
    now_.activations = in_flight_ ? in_flight_->bytes() : 0;
    most_.note(now_);
  }

  const Plan& plan_;
  const mesh::Coordinate at_;
  const schedule::Program* program_;  // that is followed
  const schedule::Bounds bounds_;
  std::optional<schedule::InFlight> in_flight_;
  std::map<int, std::vector<BucketNumbers>> segments_;
  cost::Memory now_, most_;
};

}  // namespace

cost::Memory memory_of_rank(const Plan& plan, const mesh::Coordinate& at) {
  Walk walk(plan, at);
  for (int step = 0; step < 2; ++step) walk.follow(plan.program);
  if (!plan.evaluation.lanes.empty()) walk.follow(plan.evaluation);
  cost::Memory memory = walk.most();
  memory.program = cost::program_bytes;
  return memory;
}

}  // namespace troika::train
