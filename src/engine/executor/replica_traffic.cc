#include "executor/replica_traffic.h"

#include <algorithm>

#include "base/clock.h"
#include "schedule/instruction/placement.h"

namespace troika::executor {
using schedule::Instruction;

template <class Visit>
void ReplicaTraffic::each_unit(const Instruction& i, Visit visit) const {
  const schedule::SegmentRange range = schedule::segments_of(program_, i);
  for (int g = range.begin; g < range.end; ++g) visit(*units_.at(g));
}

sharding::OnWait ReplicaTraffic::on_wait(const Instruction& waiting) const {
  return {[this, waiting](double begin, double end) { observer_.waited(waiting, begin, end); }, [this] { observer_.stands(); }};
}

std::uint32_t ReplicaTraffic::bucket_tag(ReplicaMessage message, const SegmentUnit& unit, const Bucket* bucket) {
  const int segment = unit.bucket->layout().segment;
  if (bucket == unit.adapter.get()) return adapter_tag(message, segment);
  const bool table = bucket == unit.table_copy.get() || bucket == unit.table;
  return replica_tag(message, segment, table ? ReadBy::tied_head : ReadBy::own_segment);
}

// The head of a tied model reads a bucket of its own, or as the second reader the embedding's.
std::uint32_t ReplicaTraffic::parameter_tag(const SegmentUnit& unit, const Bucket* bucket, ReadBy by) {
  if (bucket == unit.table_copy.get() || bucket == unit.adapter.get())
    return bucket_tag(ReplicaMessage::parameters, unit, bucket);
  return replica_tag(ReplicaMessage::parameters, bucket->layout().segment, by);
}

void ReplicaTraffic::reduce_gradients(const Instruction& i) {
  each_unit(i, [&](const SegmentUnit& unit) {
    // A table that both its uses on this rank add to is whole behind the embedding's.
    for (Bucket* bucket : program_.reduces_each_microbatch() ? unit.written() : unit.trained()) {
      finish_reductions(i);
      bucket->sum().start_reduce(replicas_, bucket_tag(ReplicaMessage::gradients, unit, bucket));
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
  const std::vector<Bucket*> own = unit.trained();
  for (const UnderWay& reduction : reductions_)
    if (std::find(own.begin(), own.end(), reduction.bucket) != own.end()) finish_reduction(reduction, waiting);
}

void ReplicaTraffic::gather_gradients(const Instruction& i) {
  each_unit(i, [&](const SegmentUnit& unit) {
    finish_reductions(unit, i);
    for (Bucket* bucket : unit.trained()) {
      bucket->sum().start_gather(replicas_, bucket_tag(ReplicaMessage::totals, unit, bucket));
      totals_.push_back({bucket, i, base::monotonic_seconds()});
    }
  });
}

// ZeRO 3: all that the segment reads. ZeRO 1, 2: what it has updated.
std::vector<SegmentUnit::Read> ReplicaTraffic::gathered(const SegmentUnit& unit) const {
  if (program_.shards(3)) return unit.read();
  std::vector<SegmentUnit::Read> updated;
  for (Bucket* bucket : unit.trained()) updated.push_back({bucket, ReadBy::own_segment});
  return updated;
}

void ReplicaTraffic::gather_parameters(const Instruction& i) {
  each_unit(i, [&](const SegmentUnit& unit) {
    for (const auto& [bucket, by] : gathered(unit)) {
      bucket->start_gather(replicas_, parameter_tag(unit, bucket, by), by);
      gathers_.push_back({bucket, i, base::monotonic_seconds(), by});
    }
  });
}

void ReplicaTraffic::free_parameters(const Instruction& i) {
  each_unit(i, [](const SegmentUnit& unit) {
    for (const auto& [bucket, by] : unit.read()) bucket->free(by);
  });
}

void ReplicaTraffic::publish() {
  for (const auto& [segment, unit] : units_) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->keeps_others_values()) continue;
      bucket->start_gather(replicas_, parameter_tag(*unit, bucket, ReadBy::own_segment), ReadBy::own_segment);
      bucket->finish_gather(ReadBy::own_segment, [](double, double) {});
    }
  }
}

void ReplicaTraffic::await_gather(const UnderWay& gather, const Instruction& waiting) {
  if (!gather.bucket->gathering(gather.by)) return;
  gather.bucket->finish_gather(gather.by, on_wait(waiting));
  observer_.transferred(gather.instruction, gather.begin_seconds, base::monotonic_seconds());
}

void ReplicaTraffic::await_parameters(const SegmentUnit& unit, const Instruction& waiting) {
  if (gathers_.empty()) return;
  const auto wanted = unit.read();
  const auto is_wanted = [&](const UnderWay& gather) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const SegmentUnit::Read& read) {
      return read.bucket == gather.bucket && read.by == gather.by;
    });
  };
  for (const UnderWay& gather : gathers_)
    if (is_wanted(gather)) await_gather(gather, waiting);
  gathers_.erase(std::remove_if(gathers_.begin(), gathers_.end(), is_wanted), gathers_.end());
}

void ReplicaTraffic::await_all_parameters(const Instruction& waiting) {
  for (const UnderWay& gather : gathers_) await_gather(gather, waiting);
  gathers_.clear();
}

tensor::Tensor ReplicaTraffic::gradient(Bucket& bucket, const Instruction& waiting) {
  const tensor::Tensor gradient = bucket.gradient(on_wait(waiting));
  for (const UnderWay& total : totals_)
    if (total.bucket == &bucket)
      observer_.transferred(total.instruction, total.begin_seconds, base::monotonic_seconds());
  totals_.erase(
      std::remove_if(totals_.begin(), totals_.end(), [&](const UnderWay& total) { return total.bucket == &bucket; }),
      totals_.end());
  return gradient;
}

}  // namespace troika::executor
