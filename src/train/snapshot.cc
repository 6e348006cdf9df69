#include "train/snapshot.h"

#include <ATen/ATen.h>

namespace troika::train {
namespace {

using executor::Bucket;

// The elements of `slot` that the bucket holds: regions of the parameter, and where they lie in the held range.
template <class Visit>
void each_region(const Bucket& bucket, const model::Slot& slot, Visit visit) {
  const std::int64_t begin = std::max(slot.offset, bucket.held().begin);
  const std::int64_t end = std::min(slot.offset + slot.elements(), bucket.held().end());
  if (begin >= end) return;
  std::int64_t position = begin - bucket.held().begin;
  for (const sharding::Region& region : sharding::part_of_region(slot.region, begin - slot.offset, end - begin)) {
    visit(region, position);
    position += region.elements();
  }
}

// As slices of the optimizer's three tensors. State in a file leaves the memory again while it is saved.
void add_slot(Bucket& bucket, const model::Slot& slot, Slices* slices) {
  each_region(bucket, slot, [&](const sharding::Region& region, std::int64_t position) {
    const auto slice = [&](const std::string& prefix, const at::Tensor& flat) {
      return checkpoint::Slice{prefix + slot.info.name, slot.info.shape, region,
                               flat.narrow(0, position, region.elements()), [&bucket] { bucket.optimizer().settle(); }};
    };
    slices->weights.push_back(slice("", bucket.optimizer().master()));
    slices->state.push_back(slice("adam_m.", bucket.optimizer().m()));
    slices->state.push_back(slice("adam_v.", bucket.optimizer().v()));
  });
}

}  // namespace

std::vector<checkpoint::Slice> weights_in(const Bucket& bucket, const at::Tensor& flat) {
  std::vector<checkpoint::Slice> weights;
  for (const model::Slot& slot : bucket.layout().slots) {
    each_region(bucket, slot, [&](const sharding::Region& region, std::int64_t position) {
      weights.push_back({slot.info.name, slot.info.shape, region, flat.narrow(0, position, region.elements())});
    });
  }
  return weights;
}

Slices slices_of(const executor::Units& units, Wanted wanted, const executor::Place& place) {
  Slices slices;
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->is_trained()) continue;
      const bool copy = bucket == unit->second_use.get();
      const bool replica_0_too = !bucket->shared_out() && mesh::replica_index(place.shape, place.at) > 0;
      if (wanted == Wanted::owned && (copy || replica_0_too)) continue;
      for (const model::Slot& slot : bucket->layout().slots) {
        if (wanted == Wanted::all || slot.first_holder == place.at.tp) add_slot(*bucket, slot, &slices);
      }
    }
  }
  return slices;
}

}  // namespace troika::train
