#include "plan/saved_bytes.h"

#include <algorithm>

#include "plan/buckets.h"
#include "shape/adapter.h"

namespace troika::plan {
namespace {

// Elements of `range` that lie in slots which the tp rank is the first to hold.
std::int64_t elements_in(const BucketShape& bucket, const shape::Range& range, int tp) {
  std::int64_t elements = 0;
  for (const shape::Slot& slot : bucket.layout.slots) {
    if (slot.first_holder != tp) continue;
    const std::int64_t begin = std::max(slot.offset, range.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), range.end());
    elements += std::max<std::int64_t>(end - begin, 0);
  }
  return elements;
}

enum class Share { written, twin };

SavedBytes bytes_of(const Plan& plan, const mesh::Coordinate& at, Share share) {
  const int replica = mesh::replica_index(plan.shape, at);
  const bool ranges = plan.program.shards(1) && plan.replicas() > 1;
  SavedBytes bytes;
  if (!ranges && (replica > 0) != (share == Share::twin)) return bytes;
  if (ranges && share == Share::twin) return bytes;
  const bool adapters = shape::has_adapters(plan.settings().lora);
  for (const int g : plan.stages.segments_of(at.pp)) {
    for (const BucketShape& bucket : buckets_of(plan, plan.stages, g, plan.tensor_share(at))) {
      const bool own = bucket.part == BucketShape::Part::own || bucket.part == BucketShape::Part::adapter;
      if (!own || (adapters && !bucket.trained)) continue;
      const shape::Range range =
          ranges ? shard_plan(plan, bucket).elements_of(replica) : shape::Range{0, bucket.layout.elements};
      const std::int64_t elements = elements_in(bucket, range, at.tp);
      (bucket.trained ? bytes.trained : bytes.frozen) += elements * (bucket.trained ? plan.optimizer().saved_bytes() : 4);
    }
  }
  return bytes;
}

}  // namespace

SavedBytes written_bytes(const Plan& plan, const mesh::Coordinate& at) { return bytes_of(plan, at, Share::written); }
SavedBytes twin_bytes(const Plan& plan, const mesh::Coordinate& at) { return bytes_of(plan, at, Share::twin); }

void count_snapshots(Plan* plan, const std::vector<std::int64_t>& bytes) {
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    Memory& memory = plan->memory[static_cast<std::size_t>(mesh::grid_rank_of(plan->shape, static_cast<int>(rank)))];
    memory.snapshot = std::max(memory.snapshot, bytes[rank]);
  }
}

void count_snapshots(Plan* plan) {
  std::vector<std::int64_t> bytes;
  for (int rank = 0; rank < plan->shape.world(); ++rank)
    bytes.push_back(written_bytes(*plan, mesh::coordinate_of(plan->shape, rank)).trained);
  count_snapshots(plan, bytes);
}

}  // namespace troika::plan
