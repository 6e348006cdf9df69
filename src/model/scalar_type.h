// The number formats of config/choices.h as libtorch names them.
#pragma once

#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::model {

inline tensor::Dtype scalar_type(config::Precision precision) {
  if (precision == config::Precision::bf16) return tensor::Dtype::bf16;
  return precision == config::Precision::fp16 ? tensor::Dtype::fp16 : tensor::Dtype::fp32;
}

}  // namespace troika::model
