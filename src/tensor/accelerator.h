// What tensors ask of devices that are not the host: memory, and the few operations that move or fill it. Everything else is
// asked of kernels. A back end implements it (CUDA's is a library that the program loads, docs/decisions/0029).
#pragma once

#include <cstddef>
#include <memory>

#include "base/dtype.h"
#include "tensor/memory.h"

namespace troika::tensor {

class Tensor;

// Work is queued on the compute lane (tensor/streams.h) of the tensors' device; a copy to the host returns when it is done.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::shared_ptr<Memory> allocate(std::size_t bytes, const Device& device) = 0;  // OutOfMemory
  // to = from, of one size; dtypes, strides and devices may differ, one of them may be the host.
  virtual void copy(const Tensor& to, const Tensor& from) = 0;
  virtual void fill(const Tensor& tensor, double value) = 0;
  virtual void synchronize(const Device& device) = 0;
};

}  // namespace troika::tensor
