#include "comm/host_copy.h"

#include <ATen/ATen.h>

namespace troika::comm {

HostCopy::HostCopy(const at::Tensor& tensor, Direction direction) : tensor_(tensor), local_(tensor) {
  if (tensor.device().is_cpu()) return;
  comes_back_ = direction == Direction::recv;
  local_ = comes_back_ ? at::empty_like(tensor, tensor.options().device(at::kCPU)) : tensor.to(at::kCPU);
}

void HostCopy::arrived() const {
  if (comes_back_) tensor_.copy_(local_);
}

}  // namespace troika::comm
