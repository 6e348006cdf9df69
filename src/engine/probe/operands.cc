#include "probe/operands.h"

#include "base/random.h"
#include "cpu/flat.h"
#include "model/dtype_of.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::probe {

constexpr std::int64_t different_numbers = 4099;  // a prime: no row begins as the one above

static tensor::Tensor normal_numbers() {
  const tensor::Tensor numbers = tensor::empty({different_numbers});
  cpu::random_normal(base::Philox(1, "probe"), 0, numbers.elements(), 1, numbers.data<float>());
  return numbers;
}

Operands::Operands(const tensor::Device& device, config::Precision precision)
    : numbers_(normal_numbers().to(device)), dtype_(model::dtype_of(precision)) {}

tensor::Tensor Operands::random_float(const tensor::Sizes& sizes) const {
  const std::int64_t count = sizes.product();
  return tensor::repeat(numbers_, count / different_numbers + 1).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::random(const tensor::Sizes& sizes) const {
  const std::int64_t count = sizes.product();
  return tensor::repeat(numbers_.to(dtype_), count / different_numbers + 1).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::empty_float(const tensor::Sizes& sizes) const { return tensor::empty_float(sizes, numbers_.device()); }

}  // namespace troika::probe
