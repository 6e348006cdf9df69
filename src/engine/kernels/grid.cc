#include "kernels/grid.h"

#include <algorithm>

#include "cpu/grid.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"

namespace troika::kernels {

static void note(const Largest& largest, std::size_t stretch, MagnitudeBits found) {
  if (!largest.defined()) return;
  auto* const known = largest.data<std::int32_t>() + stretch;
  *known = std::max(*known, static_cast<std::int32_t>(found));
}

// visit(index, stretch, its first element)
template <class Visit>
static void each_stretch(const GridStretches& stretches, const Visit& visit) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < stretches.size(); begin += stretches[i++].count) visit(i, stretches[i], begin);
}

void round_to_grid(const tensor::Tensor& x, const GridStretches& stretches, const Largest& largest) {
  if (!x.is_cpu()) return on_cuda::round_to_grid(x, stretches, largest);
  each_stretch(stretches, [&](std::size_t i, const GridStretch& s, std::int64_t begin) {
    note(largest, i, cpu::round_to_grid(s.count, x.data<float>() + begin, s.shift));
  });
}

void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, const GridStretches& stretches, Into into,
                 const Largest& largest) {
  if (!x.is_cpu()) return on_cuda::add_on_grid(sum, x, stretches, into, largest);
  const auto add = into == Into::fresh ? cpu::set_integers : cpu::add_integers;
  each_stretch(stretches, [&](std::size_t i, const GridStretch& s, std::int64_t begin) {
    note(largest, i, add(s.count, sum.data<std::int64_t>() + begin, x.data<float>() + begin, s.shift));
  });
}

void add_rows_on_grid(const MatrixPart& sum, const tensor::Tensor& row_r, const tensor::Tensor& x_rD, int shift,
                      const Largest& largest) {
  if (x_rD.is_cpu()) {
    const cpu::RowsOfPart rows{sum.first, sum.elements.elements(), row_r.elements(), x_rD.size(1),
                               row_r.data<std::int64_t>()};
    return note(largest, 0, cpu::add_rows(rows, sum.elements.data<std::int64_t>(), x_rD.data<float>(), shift));
  }
  return on_cuda::add_rows_on_grid(sum, row_r, x_rD, shift, largest);
}

void from_integers(const tensor::Tensor& sum, const GridStretches& stretches, const tensor::Tensor& x) {
  if (!x.is_cpu()) return on_cuda::from_integers(sum, stretches, x);
  each_stretch(stretches, [&](std::size_t, const GridStretch& s, std::int64_t begin) {
    cpu::from_integers(s.count, sum.data<std::int64_t>() + begin, s.shift, x.data<float>() + begin);
  });
}

tensor::Tensor integer_chunk_squares(const tensor::Tensor& sum, const GridStretches& stretches, std::int64_t chunk) {
  std::int64_t chunks = 0;
  for (const GridStretch& s : stretches) chunks += (s.count + chunk - 1) / chunk;
  const tensor::Tensor squares = tensor::empty({chunks}, sum.type().of(tensor::Dtype::fp64));
  if (!sum.is_cpu()) {
    on_cuda::integer_chunk_squares(sum, stretches, chunk, squares);
    return squares;
  }
  auto* to = squares.data<double>();
  each_stretch(stretches, [&](std::size_t, const GridStretch& s, std::int64_t begin) {
    cpu::integer_chunk_squares(s.count, sum.data<std::int64_t>() + begin, s.shift, chunk, to);
    to += (s.count + chunk - 1) / chunk;
  });
  return squares;
}

}  // namespace troika::kernels
