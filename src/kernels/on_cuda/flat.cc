// Flat buffers, gradients on a grid, and sums over rows.
#include "cuda/flat.h"

#include "cuda/bias.h"
#include "cuda/grid.h"
#include "kernels/adamw_numbers.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

std::uint32_t* bits_of(const Largest& largest) { return static_cast<std::uint32_t*>(data_of(largest)); }

tensor::Tensor empty_squares(const tensor::Tensor& x, std::int64_t chunk) {
  return tensor::empty({(x.elements() + chunk - 1) / chunk}, x.type().of(tensor::Dtype::fp64));
}

}  // namespace

void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O) {
  const tensor::Tensor dy = dy_MO.contiguous();
  const cuda::BiasRows rows{dtype_of(dy), dy.size(0), dy.size(1)};
  const tensor::Tensor room = workspace(dy, cuda::linear_backward_bias_floats(rows));
  cuda::linear_backward_bias(rows, dy.data(), dbias_O.data<float>(), room.data<float>(), stream_of(dy));
}

void add_into(const tensor::Tensor& sum, const tensor::Tensor& other) {
  cuda::add_into(sum.elements(), sum.data<float>(), other.data<float>(), stream_of(sum));
}

tensor::Tensor chunk_squares(const tensor::Tensor& x, std::int64_t chunk) {
  tensor::Tensor squares = empty_squares(x, chunk);
  cuda::chunk_squares(x.elements(), x.data<float>(), chunk, squares.data<double>(), stream_of(x));
  return squares;
}

void adamw(const AdamW& settings, double weight_decay, const AdamWTensors& tensors) {
  const auto& [parameter, gradient, m, v, rounded] = tensors;
  const auto numbers = adamw_numbers<cuda::AdamWNumbers>(settings, weight_decay);
  const cuda::AdamWState state{parameter.data<float>(), gradient.data<float>(), m.data<float>(),
                               v.data<float>()};
  if (!rounded.defined()) return cuda::adamw(numbers, parameter.elements(), state, stream_of(parameter));
  cuda::adamw(numbers, parameter.elements(), state, dtype_of(rounded), rounded.data(), stream_of(parameter));
}

void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded) {
  cuda::round_into(master.elements(), master.data<float>(), dtype_of(rounded), rounded.data(), stream_of(master));
}

void round_to_grid(const tensor::Tensor& x, int shift, const Largest& largest) {
  cuda::round_to_grid(x.elements(), x.data<float>(), shift, bits_of(largest), stream_of(x));
}

void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, int shift, Into into, const Largest& largest) {
  const auto add = into == Into::fresh ? cuda::set_integers : cuda::add_integers;
  add(x.elements(), sum.data<std::int64_t>(), x.data<float>(), shift, bits_of(largest), stream_of(x));
}

void from_integers(const tensor::Tensor& sum, int shift, const tensor::Tensor& x) {
  cuda::from_integers(sum.elements(), sum.data<std::int64_t>(), shift, x.data<float>(), stream_of(x));
}

tensor::Tensor integer_chunk_squares(const tensor::Tensor& sum, int shift, std::int64_t chunk) {
  tensor::Tensor squares = empty_squares(sum, chunk);
  cuda::integer_chunk_squares(sum.elements(), sum.data<std::int64_t>(), shift, chunk, squares.data<double>(),
                              stream_of(sum));
  return squares;
}

}  // namespace troika::kernels::on_cuda
