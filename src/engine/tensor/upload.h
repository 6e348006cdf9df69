// Fills a device's memory with data that the host reads in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
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

// Reads a device's memory on the host piece by piece.
// Through two buffers of host memory that the device fills by itself: while the host reads one, the other is on its way. One
// thread, one device.
class Download {
 public:
  static constexpr std::int64_t buffer_bytes = 4 << 20;

  // `check` as of await(): called while the device is waited for.
  explicit Download(std::function<void()> check) : check_(std::move(check)) {}
  ~Download();

  // Calls `read` with the elements of all tensors in order, as contiguous pieces on the host, `tensor` counting the tensors:
  // what the compute lane has written by now. The host waits once for each buffer that is filled, however many tensors it holds.
  // Tensors are one-dimensional and contiguous; those on the host are read where they are. A device that failed: BugError.
  void read(const std::vector<Tensor>& tensors,
            const std::function<void(std::size_t tensor, const Tensor& piece)>& read);

 private:
  struct Part {
    std::size_t tensor = 0;
    Tensor piece;  // on the host, in the buffer where it comes from a device
  };
  struct Buffer {
    Tensor memory;
    std::vector<Part> parts;
    Event filled;
  };
  // From the position on: fills one buffer, and moves the position behind what it has.
  struct Position {
    std::size_t tensor = 0;
    std::int64_t element = 0;
  };
  void fill(Buffer& buffer, const std::vector<Tensor>& tensors, Position& position);
  void start(const Device& device);

  const std::function<void()> check_;
  std::unique_ptr<Streams> streams_;  // of the device, once there is one
  Buffer buffers_[2];
};

}  // namespace troika::tensor
