#include <fmt/format.h>

#include "kernels/flat.h"
#include "kernels/grid.h"
#include "model/decoder.h"
#include "probe/timed_kernel.h"
#include "config/choices.h"
#include "shape/shard_plan.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

constexpr int grid_shift = 30;  // a billion small numbers can be added
constexpr double leaves = 4;    // of a step

struct Stream {
  const char* name;
  double calls, bytes;  // for each element
  std::function<KernelBody(const Operands&, std::int64_t elements)> prepare;
};

KernelBody leaf_on_grid(const Operands& operands, std::int64_t P, kernels::Into into) {
  const tensor::Tensor leaf = operands.random_float({P}), sum = tensor::zeros({P}, leaf.type().of(tensor::Dtype::int64));
  const tensor::Tensor largest = tensor::zeros({1}, leaf.type().of(tensor::Dtype::int32));
  return [=] { kernels::add_on_grid(sum, leaf, {{P, grid_shift}}, into, largest); };
}

KernelBody adamw_step(const Operands& operands, std::int64_t P, config::Precision precision) {
  const kernels::AdamW settings{3e-4, 0.9, 0.95, 1e-8, 10, 1.0};
  const tensor::Tensor parameter = operands.random_float({P}), gradient = operands.random_float({P});
  const tensor::Tensor m = operands.random_float({P}), v = tensor::ones({P}, m.type());
  const tensor::TensorType rounded_type = parameter.type().of(model::dtype_of(precision));
  const tensor::Tensor rounded =
      precision == config::Precision::fp32 ? tensor::Tensor() : tensor::empty({P}, rounded_type);
  return [=] { kernels::adamw_summed(settings, {{P, 0.1}}, {parameter, gradient, m, v, rounded}); };
}

tensor::Tensor integers_of(const tensor::Tensor& x) {
  const tensor::Tensor grown = x.clone();
  tensor::multiply(grown, 0x1p20);
  return grown.to(tensor::Dtype::int64);
}

// Of every precision: gradients are fp32.
std::vector<Stream> gradient_streams() {
  using kernels::Into;
  return {{"first gradient on the grid", 1, 4 + 8,
           [](const Operands& o, std::int64_t P) { return leaf_on_grid(o, P, Into::fresh); }},
          {"gradient added on the grid", leaves - 1, 4 + 8 + 8,
           [](const Operands& o, std::int64_t P) { return leaf_on_grid(o, P, Into::sum); }},
          {"sum to fp32", 1, 8 + 4,
           [](const Operands& o, std::int64_t P) {
             const tensor::Tensor x = o.random_float({P}), sum = integers_of(x);
             return [=] { kernels::from_integers(sum, {{P, grid_shift}}, x); };
           }},
          {"squares of the sum", 1, 8, [](const Operands& o, std::int64_t P) {
             const tensor::Tensor sum = integers_of(o.random_float({P}));
             return [=] { kernels::integer_chunk_squares(sum, {{P, grid_shift}}, shape::norm_chunk); };
           }}};
}

}  // namespace

std::vector<TimedKernel> stream_kernels(config::Precision precision, std::int64_t elements) {
  const double rounded = precision == config::Precision::fp32 ? 0 : static_cast<double>(config::bytes_of(precision));
  std::vector<Stream> streams;
  if (precision == config::Precision::fp32) streams = gradient_streams();
  streams.push_back(
      {"adamw", 1, 7 * 4 + rounded, [=](const Operands& o, std::int64_t P) { return adamw_step(o, P, precision); }});
  std::vector<TimedKernel> kernels;
  for (const Stream& stream : streams) {
    kernels.push_back({fmt::format("{} P {}", stream.name, elements),
                       KernelKind::stream,
                       precision,
                       {0, stream.bytes * static_cast<double>(elements)},
                       stream.calls,
                       [=, prepare = stream.prepare](const tensor::Device& device) {
                         return prepare(Operands(device, precision), elements);
                       }});
  }
  return kernels;
}

}  // namespace troika::probe
