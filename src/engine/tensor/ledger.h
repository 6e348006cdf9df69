// Counts the bytes a rank holds, by use. Owners book what they keep; the sum is what metrics report as memory_bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::tensor {

enum class MemoryUse { parameters, gradients, state, activations, snapshot };
inline constexpr int use_count = 5;

// One per rank; used from the rank's thread only.
class Ledger {
 public:
  void hold(MemoryUse use, std::int64_t bytes) {
    live_[index(use)] += bytes;
    peak_[index(use)] = std::max(peak_[index(use)], live_[index(use)]);
    peak_total_ = std::max(peak_total_, live());
  }
  void release(MemoryUse use, std::int64_t bytes) { live_[index(use)] -= bytes; }

  std::int64_t live(MemoryUse use) const { return live_[index(use)]; }
  std::int64_t peak(MemoryUse use) const { return peak_[index(use)]; }
  std::int64_t live() const { return live_[0] + live_[1] + live_[2] + live_[3] + live_[4]; }
  std::int64_t peak() const { return peak_total_; }  // largest sum at any time

 private:
  static std::size_t index(MemoryUse use) { return static_cast<std::size_t>(use); }
  std::array<std::int64_t, use_count> live_{};
  std::array<std::int64_t, use_count> peak_{};
  std::int64_t peak_total_ = 0;
};

// Uninitialised, contiguous, one-dimensional. Its bytes are booked until the last view of it is gone, which must happen
// on the rank's thread and before the ledger ends.
Tensor booked_empty(std::int64_t elements, Dtype dtype, const Device& device, Ledger& ledger, MemoryUse use);
// The same in host memory that the streams' device reads by itself (Streams::new_host_tensor).
Tensor booked_host_tensor(std::int64_t elements, Dtype dtype, Streams& streams, Ledger& ledger, MemoryUse use);

}  // namespace troika::tensor
