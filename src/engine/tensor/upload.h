// Fills a device's memory with data that the host reads in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::tensor {

// Through pieces of host memory that the device reads by itself: while some are on their way the host fills the next. One thread.
class Upload {
 public:
  static constexpr std::int64_t piece_bytes = 4 << 20, pieces = 4;

  // to = what `fill` puts where it is told; `to` is contiguous, of at most piece_bytes, on a device, the same in all calls.
  // Returns when the host has done so. What the compute lane does from then on is behind it. A device that failed: BugError.
  void copy(const Tensor& to, const std::function<void(void* piece)>& fill);

 private:
  struct Piece {
    Tensor memory;
    Event read;  // by the device
  };
  std::unique_ptr<Streams> streams_;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;
};

}  // namespace troika::tensor
