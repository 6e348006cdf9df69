#include "executor/replica_traffic.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"
#include "comm/collectives.h"

namespace troika::executor {
using schedule::Instruction;

std::vector<int> ReplicaTraffic::segments(const Instruction& i) const {
  if (i.segment >= 0) return {i.segment};
  std::vector<int> all;
  for (int g = program_.first_segment(i.stage); g < program_.end_segment(i.stage); ++g) all.push_back(g);
  return all;
}

Bucket::OnWait ReplicaTraffic::on_wait(const Instruction& waiting) const {
  return [this, waiting](double begin, double end) { observer_.waited(waiting, begin, end); };
}

// The head of a tied model on the embedding's rank reads the embedding's own bucket.
std::uint32_t ReplicaTraffic::tag(Purpose purpose, const SegmentUnit& unit, const Bucket* bucket) const {
  if (bucket == unit.second_use.get()) return replica_tag(purpose, unit.bucket->layout().segment, Use::second);
  return replica_tag(purpose, bucket->layout().segment, Use::first);
}

void ReplicaTraffic::reduce_gradients(const Instruction& i) {
  if (program_.reduces_each_microbatch()) finish_reductions(i);
  for (const int g : segments(i)) {
    const SegmentUnit& unit = *units_.at(g);
    for (Bucket* bucket : unit.buckets()) {
      bucket->sum().start_reduce(replicas_, tag(Purpose::gradients, unit, bucket));
      reductions_.push_back({bucket, i, base::monotonic_seconds()});
    }
  }
}

void ReplicaTraffic::finish_reduction(const UnderWay& reduction, const Instruction& waiting) {
  if (!reduction.bucket->sum().reducing()) return;
  reduction.bucket->sum().finish_reduce(on_wait(waiting));
  if (replicas_.size() > 1)
    observer_.transferred(reduction.instruction, reduction.begin_seconds, base::monotonic_seconds());
}

void ReplicaTraffic::finish_reductions(const Instruction& waiting) {
  for (const UnderWay& reduction : reductions_) finish_reduction(reduction, waiting);
  reductions_.clear();
}

void ReplicaTraffic::finish_reductions(const SegmentUnit& unit, const Instruction& waiting) {
  for (const UnderWay& reduction : reductions_) {
    if (reduction.bucket == unit.bucket.get() || reduction.bucket == unit.second_use.get())
      finish_reduction(reduction, waiting);
  }
}

void ReplicaTraffic::gather_gradients(const Instruction& i) {
  for (const int g : segments(i)) {
    const SegmentUnit& unit = *units_.at(g);
    finish_reductions(unit, i);
    for (Bucket* bucket : unit.buckets()) {
      if (!bucket->has_parameters()) continue;
      bucket->sum().start_gather(replicas_, tag(Purpose::totals, unit, bucket));
      totals_.push_back({bucket, i, base::monotonic_seconds()});
    }
  }
}

void ReplicaTraffic::gather_parameters(const Instruction& i) {
  for (const int g : segments(i)) {
    const SegmentUnit& unit = *units_.at(g);
    for (Bucket* bucket : program_.shards(3) ? unit.read() : unit.buckets()) {
      if (!bucket->has_parameters()) continue;
      bucket->start_gather(replicas_, tag(Purpose::parameters, unit, bucket));
      gathers_.push_back({bucket, i, base::monotonic_seconds()});
    }
  }
}

void ReplicaTraffic::free_parameters(const Instruction& i) {
  for (const int g : segments(i)) {
    for (Bucket* bucket : units_.at(g)->read()) bucket->free();
  }
}

void ReplicaTraffic::await_gather(const UnderWay& gather, const Instruction& waiting) {
  if (!gather.bucket->gathering()) return;
  gather.bucket->finish_gather(on_wait(waiting));
  observer_.transferred(gather.instruction, gather.begin_seconds, base::monotonic_seconds());
}

void ReplicaTraffic::await_parameters(const SegmentUnit& unit, const Instruction& waiting) {
  if (gathers_.empty()) return;
  const auto wanted = unit.read();
  const auto is_wanted = [&](const UnderWay& gather) {
    return std::find(wanted.begin(), wanted.end(), gather.bucket) != wanted.end();
  };
  for (const UnderWay& gather : gathers_) {
    if (is_wanted(gather)) await_gather(gather, waiting);
  }
  gathers_.erase(std::remove_if(gathers_.begin(), gathers_.end(), is_wanted), gathers_.end());
}

void ReplicaTraffic::await_all_parameters(const Instruction& waiting) {
  for (const UnderWay& gather : gathers_) await_gather(gather, waiting);
  gathers_.clear();
}

at::Tensor ReplicaTraffic::gradient(Bucket& bucket, const Instruction& waiting) {
  const at::Tensor gradient = bucket.gradient(on_wait(waiting));
  for (const UnderWay& total : totals_) {
    if (total.bucket == &bucket)
      observer_.transferred(total.instruction, total.begin_seconds, base::monotonic_seconds());
  }
  totals_.erase(
      std::remove_if(totals_.begin(), totals_.end(), [&](const UnderWay& total) { return total.bucket == &bucket; }),
      totals_.end());
  return gradient;
}

// A copy of the table, and its second use, are counted where the embedding is.
std::vector<const Bucket*> ReplicaTraffic::counted() const {
  std::vector<const Bucket*> all;
  for (const auto& [segment, unit] : units_) all.push_back(unit->bucket.get());
  return all;
}

// Chunk squares of all counted buckets, one after the other, by replica; only on replica 0.
std::vector<std::vector<double>> ReplicaTraffic::squares_of_replicas(const Instruction& waiting) const {
  std::vector<double> mine;
  for (const Bucket* bucket : counted()) {
    const auto& sum = bucket->sum();
    const auto squares =
        optimizer::squares_of_chunks(sum.plan(), bucket->layout().slots.size(), replicas_.rank(), sum.total());
    mine.insert(mine.end(), squares.begin(), squares.end());
  }
  if (replicas_.size() == 1) return {mine};
  const auto as_tensor = [](std::vector<double>& values) {
    return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble);
  };
  const double begin = base::monotonic_seconds();
  std::vector<std::vector<double>> all;
  const std::uint32_t tag = replica_tag(Purpose::squares, 0, Use::first);
  if (replicas_.rank() != 0) {
    if (!mine.empty()) replicas_.send(as_tensor(mine), 0, tag).wait();
  } else {
    all.push_back(mine);
    std::vector<comm::Transfer> transfers;
    for (int r = 1; r < replicas_.size(); ++r) {
      std::int64_t count = 0;
      for (const Bucket* bucket : counted()) count += bucket->sum().plan().chunks_of(r).count;
      all.emplace_back(static_cast<std::size_t>(count));
      if (count > 0) transfers.push_back(replicas_.recv(as_tensor(all.back()), r, tag));
    }
    for (comm::Transfer& transfer : transfers) transfer.wait();
  }
  observer_.waited(waiting, begin, base::monotonic_seconds());
  return all;
}

std::map<std::string, double> ReplicaTraffic::squares(int tp_rank, const Instruction& waiting) {
  const auto by_replica = squares_of_replicas(waiting);
  std::map<std::string, double> by_name;
  if (replicas_.rank() != 0) return by_name;
  std::vector<std::size_t> used(by_replica.size());
  for (const Bucket* bucket : counted()) {
    const sharding::ShardPlan& plan = bucket->sum().plan();
    std::vector<double> chunks;
    for (std::size_t r = 0; r < by_replica.size(); ++r) {
      const auto begin = by_replica[r].begin() + static_cast<std::ptrdiff_t>(used[r]);
      const std::int64_t count = plan.chunks_of(static_cast<int>(r)).count;
      chunks.insert(chunks.end(), begin, begin + count);
      used[r] += static_cast<std::size_t>(count);
    }
    for (std::size_t part = 0; part < bucket->layout().slots.size(); ++part) {
      const model::Slot& slot = bucket->layout().slots[part];
      if (slot.first_holder == tp_rank) by_name[slot.info.name] += optimizer::square_of_part(plan, part, chunks);
    }
  }
  return by_name;
}

}  // namespace troika::executor
