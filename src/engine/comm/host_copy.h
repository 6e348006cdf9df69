// A message's tensor in host memory: itself, or a copy of one on a device.
#pragma once

#include "comm/failure.h"
#include "tensor/tensor.h"

namespace troika::comm {

class HostCopy {
 public:
  HostCopy(const tensor::Tensor& tensor, Direction direction);

  const tensor::Tensor& local() const { return local_; }
  void arrived() const;  // what was received: where the tensor is on a device, there too

 private:
  tensor::Tensor tensor_, local_;
  bool comes_back_ = false;
};

}  // namespace troika::comm
