#include "executor/replica_traffic.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"
#include "schedule/border.h"

namespace troika::executor {
using schedule::Instruction;

template <class Visit>
void ReplicaTraffic::each_unit(const Instruction& i, Visit visit) const {
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) visit(*units_.at(g));
}

Bucket::OnWait ReplicaTraffic::on_wait(const Instruction& waiting) const {
  return [this, waiting](double begin, double end) { observer_.waited(waiting, begin, end); };
}

std::uint32_t ReplicaTraffic::bucket_tag(Purpose purpose, const SegmentUnit& unit, const Bucket* bucket) {
  const int segment = unit.bucket->layout().segment;
  if (bucket == unit.adapter.get()) return adapter_tag(purpose, segment);
  return replica_tag(purpose, segment, bucket == unit.second_use.get() ? Use::second : Use::first);
}

// The head of a tied model reads a bucket of its own, or as the second reader the embedding's.
std::uint32_t ReplicaTraffic::parameter_tag(const SegmentUnit& unit, const Bucket* bucket, Use use) {
  if (bucket == unit.second_use.get() || bucket == unit.adapter.get())
    return bucket_tag(Purpose::parameters, unit, bucket);
  return replica_tag(Purpose::parameters, bucket->layout().segment, use);
}

void ReplicaTraffic::reduce_gradients(const Instruction& i) {
  if (program_.reduces_each_microbatch()) finish_reductions(i);
  each_unit(i, [&](const SegmentUnit& unit) {
    for (Bucket* bucket : unit.written()) {
      bucket->sum().start_reduce(replicas_, bucket_tag(Purpose::gradients, unit, bucket));
      reductions_.push_back({bucket, i, base::monotonic_seconds()});
    }
  });
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
  const std::vector<Bucket*> own = unit.written();
  for (const UnderWay& reduction : reductions_) {
    if (std::find(own.begin(), own.end(), reduction.bucket) != own.end()) finish_reduction(reduction, waiting);
  }
}

void ReplicaTraffic::gather_gradients(const Instruction& i) {
  each_unit(i, [&](const SegmentUnit& unit) {
    finish_reductions(unit, i);
    for (Bucket* bucket : unit.buckets()) {
      if (!bucket->is_trained()) continue;
      bucket->sum().start_gather(replicas_, bucket_tag(Purpose::totals, unit, bucket));
      totals_.push_back({bucket, i, base::monotonic_seconds()});
    }
  });
}

// ZeRO 3: all that the segment reads. ZeRO 1, 2: what it has updated.
std::vector<SegmentUnit::Read> ReplicaTraffic::gathered(const SegmentUnit& unit) const {
  if (program_.shards(3)) return unit.read();
  std::vector<SegmentUnit::Read> updated;
  for (Bucket* bucket : unit.buckets()) {
    if (bucket->is_trained()) updated.push_back({bucket, Use::first});
  }
  return updated;
}

void ReplicaTraffic::gather_parameters(const Instruction& i) {
  each_unit(i, [&](const SegmentUnit& unit) {
    for (const auto& [bucket, use] : gathered(unit)) {
      bucket->start_gather(replicas_, parameter_tag(unit, bucket, use), use);
      gathers_.push_back({bucket, i, base::monotonic_seconds(), use});
    }
  });
}

void ReplicaTraffic::free_parameters(const Instruction& i) {
  each_unit(i, [](const SegmentUnit& unit) {
    for (const auto& [bucket, use] : unit.read()) bucket->free(use);
  });
}

void ReplicaTraffic::publish() {
  for (const auto& [segment, unit] : units_) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->has_parameters() || !bucket->must_publish()) continue;
      bucket->start_gather(replicas_, parameter_tag(*unit, bucket, Use::first), Use::first);
      bucket->finish_gather(Use::first, [](double, double) {});
    }
  }
}

void ReplicaTraffic::await_gather(const UnderWay& gather, const Instruction& waiting) {
  if (!gather.bucket->gathering(gather.use)) return;
  gather.bucket->finish_gather(gather.use, on_wait(waiting));
  observer_.transferred(gather.instruction, gather.begin_seconds, base::monotonic_seconds());
}

void ReplicaTraffic::await_parameters(const SegmentUnit& unit, const Instruction& waiting) {
  if (gathers_.empty()) return;
  const auto wanted = unit.read();
  const auto is_wanted = [&](const UnderWay& gather) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const SegmentUnit::Read& read) {
      return read.bucket == gather.bucket && read.use == gather.use;
    });
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
  for (const auto& [segment, unit] : units_) {
    for (const Bucket* bucket : unit->buckets()) {
      if (bucket->is_trained() && bucket != unit->second_use.get()) all.push_back(bucket);
    }
  }
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
