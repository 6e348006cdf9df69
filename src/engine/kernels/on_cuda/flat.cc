// Flat buffers, gradients on a grid, and sums over rows.
#include "cuda/bias_dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_dispatch.h"
#include "kernels/flat.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/on_cuda/operands.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {
namespace {

std::uint32_t* bits_of(const Largest& largest) { return static_cast<std::uint32_t*>(data_of(largest)); }

dispatch::GridStretches shifts_of(const GridStretches& stretches) {
  dispatch::GridStretches list;
  for (const auto& [count, shift] : stretches) list.push_back({count, shift});
  return list;
}

}  // namespace

void linear_backward_bias(const tensor::Tensor& dy_MO, const tensor::Tensor& dbias_O) {
  const tensor::Tensor dy = dy_MO.contiguous();
  const cuda::Rows rows = rows_of(dy);
  const tensor::Tensor room = workspace(dy, dispatch::linear_backward_bias_floats(rows));
  dispatch::linear_backward_bias(OnDevice(dy), rows, dy.data(), dbias_O.data<float>(), room.data<float>());
}

void add_into(const tensor::Tensor& sum, const tensor::Tensor& other) {
  dispatch::add_into(OnDevice(sum), sum.elements(), sum.data<float>(), other.data<float>());
}

void sum_of_parts(const std::vector<tensor::Tensor>& parts, const tensor::Tensor& sum) {
  std::vector<const void*> data;
  for (const tensor::Tensor& part : parts) data.push_back(part.data());
  const tensor::Tensor room = workspace(sum, dispatch::sum_of_parts_floats(sum.elements(), data.size()));
  dispatch::sum_of_parts(OnDevice(sum), sum.elements(), data, dtype_of(sum), sum.data(), room.data<float>());
}

void chunk_squares(const tensor::Tensor& x, const std::vector<std::int64_t>& stretches, std::int64_t chunk,
                   const tensor::Tensor& squares) {
  std::vector<cuda::Stretch<float>> list;
  for (const std::int64_t count : stretches) list.push_back({count});
  dispatch::chunk_squares(OnDevice(x), list, x.data<float>(), chunk, squares.data<double>());
}

tensor::Tensor bits_sum(const tensor::Tensor& x) {
  const tensor::Tensor sum = tensor::zeros({1}, x.type().of(tensor::Dtype::int64));
  dispatch::bits_sum(OnDevice(x), x.elements(), x.element_bytes(), x.data(), sum.data<std::int64_t>());
  return sum;
}

void adamw(const AdamW& settings, const std::vector<DecayStretch>& stretches, const AdamWTensors& tensors) {
  const auto& [parameter, gradient, m, v, rounded] = tensors;
  std::vector<cuda::Stretch<float>> list;  // neighbours of equal decay are one
  for (const DecayStretch& stretch : stretches) {
    const float decay = decay_factor(settings, stretch.weight_decay);
    if (list.empty() || list.back().value != decay) list.push_back({0, decay});
    list.back().count += stretch.count;
  }
  const cuda::AdamWState state{parameter.data<float>(), gradient.data<float>(), m.data<float>(), v.data<float>()};
  dispatch::adamw(OnDevice(parameter), adamw_numbers<cuda::AdamWNumbers>(settings), list, state,
                  rounded.defined() ? dtype_of(rounded) : tensor::Dtype::fp32, data_of(rounded));
}

void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded) {
  dispatch::round_into(OnDevice(master), master.elements(), master.data<float>(), dtype_of(rounded), rounded.data());
}

void round_to_grid(const tensor::Tensor& x, const GridStretches& stretches, const Largest& largest) {
  dispatch::round_to_grid(OnDevice(x), shifts_of(stretches), x.data<float>(), bits_of(largest));
}

void add_on_grid(const tensor::Tensor& sum, const tensor::Tensor& x, const GridStretches& stretches, Into into,
                 const Largest& largest) {
  auto* const integers = sum.data<std::int64_t>();
  if (into == Into::fresh)
    dispatch::set_integers(OnDevice(x), shifts_of(stretches), integers, x.data<float>(), bits_of(largest));
  else
    dispatch::add_integers(OnDevice(x), shifts_of(stretches), integers, x.data<float>(), bits_of(largest));
}

void add_rows_on_grid(const MatrixPart& sum, const tensor::Tensor& row_r, const tensor::Tensor& x_rD, int shift,
                      const Largest& largest) {
  const tensor::Tensor row = row_r.contiguous(), x = x_rD.contiguous();
  dispatch::add_rows_on_grid(OnDevice(x),
                             {sum.first, sum.elements.elements(), row.elements(), x.size(1), row.data<std::int64_t>()},
                             sum.elements.data<std::int64_t>(), x.data<float>(), shift, bits_of(largest));
}

void from_integers(const tensor::Tensor& sum, const GridStretches& stretches, const tensor::Tensor& x) {
  dispatch::from_integers(OnDevice(x), shifts_of(stretches), sum.data<std::int64_t>(), x.data<float>());
}

void integer_chunk_squares(const tensor::Tensor& sum, const GridStretches& stretches, std::int64_t chunk,
                           const tensor::Tensor& squares) {
  dispatch::integer_chunk_squares(OnDevice(sum), shifts_of(stretches), sum.data<std::int64_t>(), chunk, squares.data<double>());
}

}  // namespace troika::kernels::on_cuda
