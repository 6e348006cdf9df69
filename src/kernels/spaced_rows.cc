#include "kernels/spaced_rows.h"

#include <ATen/ATen.h>

namespace troika::kernels {

at::Tensor empty_spaced_rows(std::int64_t rows, std::int64_t columns, const c10::Device& device) {
  constexpr std::int64_t line = 16, power = 256;  // fp32 elements
  const std::int64_t whole = (columns + line - 1) / line * line, apart = whole % power == 0 ? whole + line : whole;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  return at::empty({rows, apart}, options).narrow(1, 0, columns);
}

}  // namespace troika::kernels
