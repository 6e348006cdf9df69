// A message's tensor in host memory: itself, or a copy of one on a device.
#pragma once

#include <ATen/ATen.h>

#include "comm/failure.h"

namespace troika::comm {

class HostCopy {
 public:
  HostCopy(const at::Tensor& tensor, Direction direction) : tensor_(tensor), local_(tensor) {
    received_ = direction == Direction::recv && !tensor.device().is_cpu();
    if (received_) local_ = at::empty_like(tensor, tensor.options().device(at::kCPU));
    if (direction == Direction::send && !tensor.device().is_cpu()) local_ = tensor.to(at::kCPU);
  }

  const at::Tensor& local() const { return local_; }
  void arrived() const {
    if (received_) tensor_.copy_(local_);
  }

 private:
  at::Tensor tensor_, local_;
  bool received_ = false;
};

}  // namespace troika::comm
