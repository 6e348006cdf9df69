#include "comm/host_copy.h"

#include "tensor/tensor.h"

namespace troika::comm {

HostCopy::HostCopy(const tensor::Tensor& tensor, Direction direction) : tensor_(tensor), local_(tensor) {
  if (tensor.device().is_cpu()) return;
  comes_back_ = direction == Direction::recv;
  local_ = comes_back_ ? tensor::empty(tensor.sizes(), tensor.dtype()) : tensor.cpu();
}

void HostCopy::arrived() const {
  if (comes_back_) tensor_.copy_from(local_);
}

}  // namespace troika::comm
