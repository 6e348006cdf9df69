#include "commands/probe/operands.h"

#include "model/dtype_of.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::commands {

constexpr std::int64_t different_numbers = 4099;  // a prime: no row begins as the one above

Operands::Operands(const tensor::Device& device, config::Precision precision)
    : numbers_(at::randn({different_numbers}).to(device)), dtype_(model::dtype_of(precision)) {}

tensor::Tensor Operands::random_float(const tensor::Sizes& sizes) const {
  const std::int64_t count = c10::multiply_integers(sizes);
  return numbers_.repeat({count / different_numbers + 1}).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::random(const tensor::Sizes& sizes) const {
  const std::int64_t count = c10::multiply_integers(sizes);
  return numbers_.to(dtype_).repeat({count / different_numbers + 1}).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::empty_float(const tensor::Sizes& sizes) const { return tensor::empty_float(sizes, numbers_.device()); }

}  // namespace troika::commands
