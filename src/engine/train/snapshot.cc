#include "train/snapshot.h"

#include <algorithm>

#include "base/error.h"

namespace troika::train {
using checkpoint::Slice;
using tensor::Dtype;
using tensor::MemoryUse;

// State in a file leaves the memory again after each piece of so many elements.
static constexpr std::int64_t piece_elements = 1 << 20;

static void copy_slice(const Slice& slice, const tensor::Tensor& copy) {
  for (std::int64_t at = 0; at < copy.elements(); at += piece_elements) {
    const std::int64_t count = std::min(piece_elements, copy.elements() - at);
    copy.narrow(0, at, count).copy_from(slice.data.narrow(0, at, count));
    if (slice.written) slice.written();
  }
}

// The device may still write to the memory that is given back: the next use of it is queued behind the compute lane.
Snapshot::~Snapshot() {
  try {
    streams_.wait(tensor::compute_lane, copied_);
  } catch (const base::Error&) {  // a device that has failed writes no more
  }
}

bool Snapshot::by_lane(const Slice& slice) const {
  return !streams_.shares_host_memory() && slice.data.device() == streams_.device();
}

void Snapshot::keep_room(std::int64_t on_host, std::int64_t on_device) {
  if (!of_host_.defined() || of_host_.elements() != on_host) {
    of_host_.reset();
    of_host_ = tensor::booked_empty(on_host, Dtype::fp32, tensor::Device(), ledger_, MemoryUse::snapshot);
  }
  if (!of_device_.defined() || of_device_.elements() != on_device) {
    streams_.wait(tensor::compute_lane, copied_);  // as in the destructor
    of_device_.reset();
    of_device_ = tensor::booked_host_tensor(on_device, Dtype::fp32, streams_, ledger_, MemoryUse::snapshot);
  }
}

void Snapshot::take(const std::vector<std::vector<Slice>*>& lists) {
  std::int64_t on_host = 0, on_device = 0;
  for (const auto* slices : lists)
    for (const Slice& slice : *slices) (by_lane(slice) ? on_device : on_host) += slice.data.elements();
  keep_room(on_host, on_device);
  if (on_device > 0) streams_.wait(tensor::out_lane, streams_.record(tensor::compute_lane));
  on_host = on_device = 0;
  for (auto* slices : lists) {
    for (Slice& slice : *slices) {
      const bool late = by_lane(slice);
      std::int64_t& position = late ? on_device : on_host;
      const tensor::Tensor copy = (late ? of_device_ : of_host_).narrow(0, position, slice.data.elements());
      late ? streams_.copy(tensor::out_lane, copy, slice.data) : copy_slice(slice, copy);
      position += copy.elements();
      slice.data = copy;
      slice.written = {};
    }
  }
  copied_ = on_device > 0 ? streams_.record(tensor::out_lane) : tensor::Event();
}

}  // namespace troika::train
