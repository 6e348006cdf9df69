#include "checkpoint/snapshot.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tensor/booked.h"

namespace troika::checkpoint {

// State in a file leaves the memory again after each piece of so many elements.
static constexpr std::int64_t piece_elements = 1 << 20;

static void copy_slice(const Slice& slice, const at::Tensor& copy) {
  for (std::int64_t at = 0; at < copy.numel(); at += piece_elements) {
    const std::int64_t count = std::min(piece_elements, copy.numel() - at);
    copy.narrow(0, at, count).copy_(slice.data.narrow(0, at, count));
    if (slice.written) slice.written();
  }
}

void Snapshot::take(const std::vector<std::vector<Slice>*>& lists) {
  std::int64_t elements = 0;
  for (const auto* slices : lists)
    for (const Slice& slice : *slices) elements += slice.data.numel();
  if (!memory_.defined() || memory_.numel() != elements) {
    memory_.reset();
    memory_ = tensor::booked_empty(elements, at::kFloat, c10::kCPU, ledger_, tensor::MemoryUse::snapshot);
  }
  std::int64_t position = 0;
  for (auto* slices : lists) {
    for (Slice& slice : *slices) {
      const at::Tensor copy = memory_.narrow(0, position, slice.data.numel());
      copy_slice(slice, copy);
      position += copy.numel();
      slice.data = copy;
      slice.written = {};
    }
  }
}

}  // namespace troika::checkpoint
