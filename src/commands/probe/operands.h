// Operands of kernels that are timed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/choices.h"

namespace troika::commands {

// Tensors of one device and precision, full of a few thousand random numbers again and again: filled fast, and nothing that a
// processor computes faster than others.
class Operands {
 public:
  Operands(const c10::Device& device, config::Precision precision);
  at::Tensor random(at::IntArrayRef sizes) const;        // in the precision
  at::Tensor random_float(at::IntArrayRef sizes) const;  // in fp32
  at::Tensor empty_float(at::IntArrayRef sizes) const;   // uninitialised

 private:
  const at::Tensor numbers_;  // fp32
  const c10::ScalarType dtype_;
};

}  // namespace troika::commands
