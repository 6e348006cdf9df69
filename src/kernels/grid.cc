#include "kernels/grid.h"

#include <ATen/ATen.h>

#include "cpu/grid.h"
#include "kernels/cpu_operands.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

MagnitudeBits round_to_grid(const at::Tensor& x, int shift) {
  if constexpr (has_cpu_kernels) {
    if (x.is_cpu()) return cpu::round_to_grid(x.numel(), x.data_ptr<float>(), shift);
  }
  return reference::round_to_grid(x, shift);
}

MagnitudeBits add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into) {
  if constexpr (has_cpu_kernels) {
    if (x.is_cpu()) {
      const auto add = into == Into::fresh ? cpu::set_integers : cpu::add_integers;
      return add(x.numel(), sum.data_ptr<std::int64_t>(), x.data_ptr<float>(), shift);
    }
  }
  return reference::add_on_grid(sum, x, shift, into);
}

void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x) {
  if constexpr (has_cpu_kernels) {
    if (x.is_cpu()) return cpu::from_integers(x.numel(), sum.data_ptr<std::int64_t>(), shift, x.data_ptr<float>());
  }
  reference::from_integers(sum, shift, x);
}

std::vector<double> integer_chunk_squares(const at::Tensor& sum, int shift, std::int64_t chunk) {
  if constexpr (has_cpu_kernels) {
    if (sum.is_cpu()) {
      std::vector<double> squares(static_cast<std::size_t>((sum.numel() + chunk - 1) / chunk));
      cpu::integer_chunk_squares(sum.numel(), sum.data_ptr<std::int64_t>(), shift, chunk, squares.data());
      return squares;
    }
  }
  const at::Tensor x = at::empty(sum.sizes(), sum.options().dtype(at::kFloat));
  reference::from_integers(sum, shift, x);
  return reference::chunk_squares(x, chunk);
}

}  // namespace troika::kernels
