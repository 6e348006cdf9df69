#include "weights/bucket_slices.h"

#include "tensor/tensor.h"

namespace troika::weights {
namespace {

using executor::Bucket;

// The elements of `slot` that the bucket holds: regions of the parameter, and where they lie in the held range.
template <class Visit>
void each_region(const Bucket& bucket, const shape::Slot& slot, Visit visit) {
  const std::int64_t begin = std::max(slot.offset, bucket.held().begin);
  const std::int64_t end = std::min(slot.offset + slot.elements(), bucket.held().end());
  if (begin >= end) return;
  std::int64_t position = begin - bucket.held().begin;
  for (const shape::Region& region : shape::part_of_region(slot.region, begin - slot.offset, end - begin)) {
    visit(region, position);
    position += region.elements();
  }
}

// As slices of the master copy and the optimizer's state. State in a file leaves the memory again while it is saved.
void add_slot(Bucket& bucket, const shape::Slot& slot, Slices* slices) {
  each_region(bucket, slot, [&](const shape::Region& region, std::int64_t position) {
    const auto slice = [&](const std::string& prefix, const tensor::Tensor& flat) {
      return checkpoint::Slice{prefix + slot.info.name, slot.info.shape, region,
                               flat.narrow(0, position, region.elements()), [&bucket] { bucket.optimizer().settle(); }};
    };
    slices->weights.push_back(slice("", bucket.optimizer().master()));
    const std::vector<shape::StateBuffer>& buffers = bucket.optimizer().buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i)
      slices->state.push_back(slice(std::string(buffers[i].name) + ".", bucket.optimizer().buffer(i)));
  });
}

void add_weight(const Bucket& bucket, const shape::Slot& slot, const tensor::Tensor& flat,
                std::vector<checkpoint::Slice>* weights) {
  each_region(bucket, slot, [&](const shape::Region& region, std::int64_t position) {
    weights->push_back({slot.info.name, slot.info.shape, region, flat.narrow(0, position, region.elements())});
  });
}

// Each slot of the selection.
template <class Visit>
void each_selected(const executor::SegmentUnit& unit, Bucket& bucket, Selection selection, const executor::Place& place,
                   Visit visit) {
  if (selection == Selection::held) {
    for (const shape::Slot& slot : bucket.layout().slots) visit(slot);
    return;
  }
  const bool copy = &bucket == unit.table_copy.get();
  const bool replica_0_too = !bucket.holds_range() && mesh::replica_index(place.shape, place.at) > 0;
  if (copy || replica_0_too != (selection == Selection::again)) return;
  for (const shape::Slot& slot : bucket.layout().slots) {
    if (slot.first_holder == place.at.tp) visit(slot);
  }
}

}  // namespace

std::vector<checkpoint::Slice> weights_in(const Bucket& bucket, const tensor::Tensor& flat) {
  std::vector<checkpoint::Slice> weights;
  for (const shape::Slot& slot : bucket.layout().slots) add_weight(bucket, slot, flat, &weights);
  return weights;
}

Slices slices_of(const executor::Units& units, Selection selection, const executor::Place& place) {
  Slices slices;
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (!bucket->is_trained()) continue;
      each_selected(*unit, *bucket, selection, place,
                    [&](const shape::Slot& slot) { add_slot(*bucket, slot, &slices); });
    }
  }
  return slices;
}

std::vector<checkpoint::Slice> frozen_slices_of(const executor::Units& units, Selection selection,
                                                const executor::Place& place) {
  std::vector<checkpoint::Slice> weights;
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (bucket->is_trained()) continue;
      each_selected(*unit, *bucket, selection, place,
                    [&](const shape::Slot& slot) { add_weight(*bucket, slot, bucket->own_values(), &weights); });
    }
  }
  return weights;
}

}  // namespace troika::weights
