#include "kernels/grid.h"

#include <algorithm>

#include "cpu/grid.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "tensor/tensor.h"

namespace troika::kernels {

static void note(const Largest& largest, MagnitudeBits found) {
  if (!largest.defined()) return;
  auto* const known = largest.data<std::int32_t>();
  *known = std::max(*known, static_cast<std::int32_t>(found));
}

void round_to_grid(const tensor::Tensor& x, int shift, const Largest& largest) {
  if (x.is_cpu()) return note(largest, cpu::round_to_grid(x.elements(), x.data<float>(), shift));
  return on_cuda::round_to_grid(x, shift, largest);
}

void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, int shift, Into into, const Largest& largest) {
  if (x.is_cpu()) {
    const auto add = into == Into::fresh ? cpu::set_integers : cpu::add_integers;
    return note(largest, add(x.elements(), sum.data<std::int64_t>(), x.data<float>(), shift));
  }
  return on_cuda::add_on_grid(sum, x, shift, into, largest);
}

void add_rows_on_grid(const MatrixPart& sum, const tensor::Tensor& row_r, const tensor::Tensor& x_rD, int shift,
                      const Largest& largest) {
  if (x_rD.is_cpu()) {
    const cpu::RowsOfPart rows{sum.first, sum.elements.elements(), row_r.elements(), x_rD.size(1),
                               row_r.data<std::int64_t>()};
    return note(largest, cpu::add_rows(rows, sum.elements.data<std::int64_t>(), x_rD.data<float>(), shift));
  }
  return on_cuda::add_rows_on_grid(sum, row_r, x_rD, shift, largest);
}

void from_integers(const tensor::Tensor& sum, int shift, const tensor::Tensor& x) {
  if (x.is_cpu()) return cpu::from_integers(x.elements(), sum.data<std::int64_t>(), shift, x.data<float>());
  return on_cuda::from_integers(sum, shift, x);
}

tensor::Tensor integer_chunk_squares(const tensor::Tensor& sum, int shift, std::int64_t chunk) {
  if (sum.is_cpu()) {
    const tensor::Tensor squares = tensor::empty({(sum.elements() + chunk - 1) / chunk}, tensor::Dtype::fp64);
    cpu::integer_chunk_squares(sum.elements(), sum.data<std::int64_t>(), shift, chunk, squares.data<double>());
    return squares;
  }
  return on_cuda::integer_chunk_squares(sum, shift, chunk);
}

}  // namespace troika::kernels
