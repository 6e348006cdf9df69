// The number formats of config/choices.h as tensors have them.
#pragma once

#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::model {

inline tensor::Dtype dtype_of(config::Precision precision) {
  if (precision == config::Precision::bf16) return tensor::Dtype::bf16;
  return precision == config::Precision::fp16 ? tensor::Dtype::fp16 : tensor::Dtype::fp32;
}

}  // namespace troika::model
