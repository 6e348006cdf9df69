#include "train/lane_memory.h"

#include <algorithm>
#include <map>

#include "sharding/sum_bytes.h"
#include "train/step_shape.h"

namespace troika::train {
namespace {

using schedule::Instruction;
using schedule::Kind;

struct BucketNumbers {
  std::int64_t elements = 0, held = 0;  // held: by the optimizer
  bool has_parameters = true;
  sharding::SumBytes sum;
};

// Follows one lane's instructions as the executor runs them.
class Walk {
 public:
  Walk(const Plan& plan, const mesh::Coordinate& at) : plan_(plan), program_(plan.program) {
    const sharding::SumShape sum = plan.sum_shape(at);
    for (int stage = 0; stage < program_.stages(); ++stage) {
      if (program_.pp_rank_of_stage[static_cast<std::size_t>(stage)] != at.pp) continue;
      for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
        for (const BucketShape& bucket : buckets_of(plan, g, plan.tensor_share(at))) {
          const sharding::ShardPlan shards = shard_plan(plan, bucket);
          const bool shared = program_.shards(1);
          const std::int64_t held = shared ? shards.elements_of(sum.place.index()).count : shards.elements();
          segments_[g].push_back({shards.elements(), held, bucket.has_parameters, sharding::SumBytes(shards, sum)});
        }
      }
    }
    embedding_elements_ = plan.model().tie_embeddings && plan.embedding_and_head_together() && segments_.count(0) > 0
                              ? segments_.at(0).front().elements
                              : 0;
  }

  void follow(const std::vector<Instruction>& lane) {
    for (int step = 0; step < 2; ++step) {  // the second begins with what the first keeps
      for (const Instruction& i : lane) visit(i);
    }
  }

  std::int64_t peak_gradients() const { return peak_gradients_; }
  std::int64_t peak_gathered_elements() const { return peak_gathered_; }
  std::int64_t sent_bytes() const { return sent_bytes_ / 2; }  // of activations, held to the end of one step

  template <class Visit>
  void each(Visit visit_bucket) const {
    for (const auto& [segment, buckets] : segments_) {
      for (const BucketNumbers& bucket : buckets) visit_bucket(bucket);
    }
  }

 private:
  void visit(const Instruction& i) {
    if (i.kind == Kind::bwd || i.kind == Kind::bwd_weight) visit_buckets(i, true, [](auto& b) { b.sum.push(); });
    if (i.kind == Kind::reduce_grads) {
      if (program_.reduces_each_microbatch()) finish_all();
      visit_buckets(i, true, [](auto& b) { b.sum.start_reduce(); });
    }
    if (i.kind == Kind::gather_grads) visit_buckets(i, false, finish);
    if (i.kind == Kind::reduce_tied || i.kind == Kind::norm) finish_all();
    if (i.kind == Kind::step) visit_buckets(i, false, [](auto& b) { b.sum.reset(); });
    if (i.kind == Kind::gather_params && program_.shards(3)) gather(i.segment, 1);
    if (i.kind == Kind::free_params) gather(i.segment, -1);
    if (i.kind == Kind::send_act || i.kind == Kind::send_grad) sent_bytes_ += i.bytes;
  }

  static void finish(BucketNumbers& bucket) {
    if (bucket.sum.reducing()) bucket.sum.finish_reduce();
  }

  void finish_all() {
    for (auto& [segment, buckets] : segments_) {
      for (BucketNumbers& bucket : buckets) finish(bucket);
    }
  }

  template <class Visit>
  void visit_buckets(const Instruction& i, bool descending, Visit visit_bucket) {
    const int first = i.segment >= 0 ? i.segment : program_.first_segment(i.stage);
    const int end = i.segment >= 0 ? i.segment + 1 : program_.end_segment(i.stage);
    for (int n = 0; n < end - first; ++n) {
      for (BucketNumbers& bucket : segments_.at(descending ? end - 1 - n : first + n)) {
        visit_bucket(bucket);
        note_gradients();
      }
    }
  }

  void note_gradients() {
    std::int64_t bytes = 0;
    each([&](const BucketNumbers& bucket) { bytes += bucket.sum.held(); });
    peak_gradients_ = std::max(peak_gradients_, bytes);
  }

  void gather(int segment, int change) {
    for (const BucketNumbers& bucket : segments_.at(segment))
      if (bucket.has_parameters) gathered_ += change * bucket.elements;
    const bool reads_embedding = segment + 1 == program_.segments() && embedding_elements_ > 0;
    if (segment == 0 || reads_embedding) {  // one copy serves both
      const int users = embedding_users_ + change;
      if (segment != 0) gathered_ += change * embedding_elements_;
      if (std::min(users, embedding_users_) > 0 && embedding_elements_ > 0) gathered_ -= change * embedding_elements_;
      embedding_users_ = users;
    }
    peak_gathered_ = std::max(peak_gathered_, gathered_);
  }

  const Plan& plan_;
  const schedule::Program& program_;
  std::map<int, std::vector<BucketNumbers>> segments_;
  std::int64_t embedding_elements_ = 0;
  int embedding_users_ = 0;
  std::int64_t gathered_ = 0, peak_gathered_ = 0, peak_gradients_ = 0, sent_bytes_ = 0;
};

}  // namespace

cost::Memory memory_of_rank(const Plan& plan, const schedule::Report& report, const mesh::Coordinate& at) {
  const auto lane = static_cast<std::size_t>(plan.program.lane(at.pp, at.dp));
  Walk walk(plan, at);
  walk.follow(plan.program.lanes[lane]);

  cost::Memory memory;
  const auto element_bytes = static_cast<std::int64_t>(c10::elementSize(plan.dtype()));
  const std::int64_t state_bytes = element_bytes == 4 ? 8 : 12;  // m, v, and the master copy of half precision
  const bool in_memory = plan.state_place().kind != optimizer::StatePlace::Kind::file;
  walk.each([&](const BucketNumbers& bucket) {
    if (!bucket.has_parameters) return;
    memory.parameters += element_bytes * (plan.program.shards(3) ? bucket.held : bucket.elements);
    if (in_memory) memory.state += state_bytes * bucket.held;
  });
  memory.parameters += element_bytes * walk.peak_gathered_elements();
  memory.gradients = walk.peak_gradients();
  memory.activations = report.peak_activation_bytes[lane] + walk.sent_bytes();
  memory.program = cost::program_bytes;
  return memory;
}

}  // namespace troika::train
