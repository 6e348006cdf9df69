// Flat buffers, gradients on a grid, and sums over rows.
#include "cuda/flat.h"

#include <ATen/ATen.h>

#include "cuda/bias.h"
#include "cuda/grid.h"
#include "kernels/adamw_numbers.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"

namespace troika::kernels::on_cuda {
namespace {

std::uint32_t* bits_of(const Largest& largest) { return static_cast<std::uint32_t*>(data_of(largest)); }

at::Tensor empty_squares(const at::Tensor& x, std::int64_t chunk) {
  return at::empty({(x.numel() + chunk - 1) / chunk}, x.options().dtype(at::kDouble));
}

}  // namespace

void linear_backward_bias(const at::Tensor& dy_MO, const at::Tensor& dbias_O) {
  const at::Tensor dy = dy_MO.contiguous();
  const cuda::BiasRows rows{dtype_of(dy), dy.size(0), dy.size(1)};
  const at::Tensor room = workspace(dy, cuda::linear_backward_bias_floats(rows));
  cuda::linear_backward_bias(rows, dy.data_ptr(), dbias_O.data_ptr<float>(), room.data_ptr<float>(), stream_of(dy));
}

void add_into(const at::Tensor& sum, const at::Tensor& other) {
  cuda::add_into(sum.numel(), sum.data_ptr<float>(), other.data_ptr<float>(), stream_of(sum));
}

at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk) {
  at::Tensor squares = empty_squares(x, chunk);
  cuda::chunk_squares(x.numel(), x.data_ptr<float>(), chunk, squares.data_ptr<double>(), stream_of(x));
  return squares;
}

void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors) {
  const auto& [parameter, gradient, m, v, rounded] = tensors;
  const auto numbers = adamw_numbers<cuda::AdamWNumbers>(settings, weight_decay);
  const cuda::AdamWState state{parameter.data_ptr<float>(), gradient.data_ptr<float>(), m.data_ptr<float>(),
                               v.data_ptr<float>()};
  if (!rounded.defined()) return cuda::adamw(numbers, parameter.numel(), state, stream_of(parameter));
  cuda::adamw(numbers, parameter.numel(), state, dtype_of(rounded), rounded.data_ptr(), stream_of(parameter));
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) {
  cuda::round_into(master.numel(), master.data_ptr<float>(), dtype_of(rounded), rounded.data_ptr(), stream_of(master));
}

void round_to_grid(const at::Tensor& x, int shift, const Largest& largest) {
  cuda::round_to_grid(x.numel(), x.data_ptr<float>(), shift, bits_of(largest), stream_of(x));
}

void add_on_grid(const at::Tensor& sum, const at::Tensor& x, int shift, Into into, const Largest& largest) {
  const auto add = into == Into::fresh ? cuda::set_integers : cuda::add_integers;
  add(x.numel(), sum.data_ptr<std::int64_t>(), x.data_ptr<float>(), shift, bits_of(largest), stream_of(x));
}

void from_integers(const at::Tensor& sum, int shift, const at::Tensor& x) {
  cuda::from_integers(sum.numel(), sum.data_ptr<std::int64_t>(), shift, x.data_ptr<float>(), stream_of(x));
}

at::Tensor integer_chunk_squares(const at::Tensor& sum, int shift, std::int64_t chunk) {
  at::Tensor squares = empty_squares(sum, chunk);
  cuda::integer_chunk_squares(sum.numel(), sum.data_ptr<std::int64_t>(), shift, chunk, squares.data_ptr<double>(),
                              stream_of(sum));
  return squares;
}

}  // namespace troika::kernels::on_cuda
