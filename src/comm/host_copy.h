// A message's tensor in host memory: itself, or a copy of one on a device.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/failure.h"

namespace troika::comm {

class HostCopy {
 public:
  HostCopy(const at::Tensor& tensor, Direction direction);

  const at::Tensor& local() const { return local_; }
  void arrived() const;  // what was received: where the tensor is on a device, there too

 private:
  at::Tensor tensor_, local_;
  bool comes_back_ = false;
};

}  // namespace troika::comm
