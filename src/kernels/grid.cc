#include "kernels/grid.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "cpu/grid.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {

static void note(const Largest& largest, MagnitudeBits found) {
  if (!largest.defined()) return;
  auto* const known = largest.data_ptr<std::int32_t>();
  *known = std::max(*known, static_cast<std::int32_t>(found));
}

void round_to_grid(const at::Tensor& x, int shift, const Largest& largest) {
  if (x.is_cpu()) return note(largest, cpu::round_to_grid(x.numel(), x.data_ptr<float>(), shift));
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::round_to_grid(x, shift, largest);
  }
  reference::round_to_grid(x, shift, largest);
}

void add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into, const Largest& largest) {
  if (x.is_cpu()) {
    const auto add = into == Into::fresh ? cpu::set_integers : cpu::add_integers;
    return note(largest, add(x.numel(), sum.data_ptr<std::int64_t>(), x.data_ptr<float>(), shift));
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::add_on_grid(sum, x, shift, into, largest);
  }
  reference::add_on_grid(sum, x, shift, into, largest);
}

void add_rows_on_grid(const MatrixPart& sum, const at::Tensor& row_r, const at::Tensor& x_rD, int shift,
                      const Largest& largest) {
  if (x_rD.is_cpu()) {
    const cpu::RowsOfPart rows{sum.first, sum.elements.numel(), row_r.numel(), x_rD.size(1),
                               row_r.data_ptr<std::int64_t>()};
    return note(largest, cpu::add_rows(rows, sum.elements.data_ptr<std::int64_t>(), x_rD.data_ptr<float>(), shift));
  }
  reference::add_rows_on_grid(sum, row_r, x_rD, shift, largest);
}

void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x) {
  if (x.is_cpu()) return cpu::from_integers(x.numel(), sum.data_ptr<std::int64_t>(), shift, x.data_ptr<float>());
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::from_integers(sum, shift, x);
  }
  reference::from_integers(sum, shift, x);
}

at::Tensor integer_chunk_squares(const at::Tensor& sum, int shift, std::int64_t chunk) {
  if (sum.is_cpu()) {
    const at::Tensor squares = at::empty({(sum.numel() + chunk - 1) / chunk}, at::kDouble);
    cpu::integer_chunk_squares(sum.numel(), sum.data_ptr<std::int64_t>(), shift, chunk, squares.data_ptr<double>());
    return squares;
  }
  if constexpr (has_cuda_kernels) {
    if (sum.is_cuda()) return on_cuda::integer_chunk_squares(sum, shift, chunk);
  }
  const at::Tensor x = at::empty(sum.sizes(), sum.options().dtype(at::kFloat));
  reference::from_integers(sum, shift, x);
  return reference::chunk_squares(x, chunk);
}

}  // namespace troika::kernels
