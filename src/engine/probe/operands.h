// Operands of kernels that are timed.
#pragma once

#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::probe {

// Tensors of one device and precision, full of a few thousand random numbers again and again: filled fast, and nothing that a
// processor computes faster than others.
class Operands {
 public:
  Operands(const tensor::Device& device, config::Precision precision);
  tensor::Tensor random(const tensor::Sizes& sizes) const;        // in the precision
  tensor::Tensor random_float(const tensor::Sizes& sizes) const;  // in fp32
  tensor::Tensor empty_float(const tensor::Sizes& sizes) const;   // uninitialised

 private:
  const tensor::Tensor numbers_;  // fp32
  const tensor::Dtype dtype_;
};

}  // namespace troika::probe
