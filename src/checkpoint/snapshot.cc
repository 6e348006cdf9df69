#include "checkpoint/snapshot.h"

#include <algorithm>

#include "tensor/booked.h"
#include "tensor/tensor.h"

namespace troika::checkpoint {

// State in a file leaves the memory again after each piece of so many elements.
static constexpr std::int64_t piece_elements = 1 << 20;

static void copy_slice(const Slice& slice, const tensor::Tensor& copy) {
  for (std::int64_t at = 0; at < copy.elements(); at += piece_elements) {
    const std::int64_t count = std::min(piece_elements, copy.elements() - at);
    copy.narrow(0, at, count).copy_from(slice.data.narrow(0, at, count));
    if (slice.written) slice.written();
  }
}

void Snapshot::take(const std::vector<std::vector<Slice>*>& lists) {
  std::int64_t elements = 0;
  for (const auto* slices : lists)
    for (const Slice& slice : *slices) elements += slice.data.elements();
  if (!memory_.defined() || memory_.elements() != elements) {
    memory_.reset();
    memory_ = tensor::booked_empty(elements, tensor::Dtype::fp32, tensor::Device(), ledger_, tensor::MemoryUse::snapshot);
  }
  std::int64_t position = 0;
  for (auto* slices : lists) {
    for (Slice& slice : *slices) {
      const tensor::Tensor copy = memory_.narrow(0, position, slice.data.elements());
      copy_slice(slice, copy);
      position += copy.elements();
      slice.data = copy;
      slice.written = {};
    }
  }
}

}  // namespace troika::checkpoint
