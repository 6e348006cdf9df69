#include "probe/timed_kernel.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "base/say.h"
#include "config/choices.h"
#include "cpu/flat.h"
#include "cpu/gemm.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/linear.h"
#include "model/decoder.h"
#include "shape/shard_plan.h"
#include "tensor/device.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::probe {
namespace {

// So many that what is passed over is larger than the last cache of most machines, and no larger than parameters of a rank.
std::int64_t stream_elements() {
  const std::int64_t cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<std::int64_t>(cache / 4, std::int64_t{4} << 20, std::int64_t{8} << 20);
}

double now_by(Clock clock) {
  if (clock == Clock::wall) return base::monotonic_seconds();
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<config::Precision> precisions_of(const tensor::Device& device) {
  if (!device.is_cpu()) return {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16};
  if (cpu::multiplies_halves()) return {config::Precision::fp32, config::Precision::bf16};
  return {config::Precision::fp32};
}

}  // namespace

std::vector<TimedKernel> kernels_of(const tensor::Device& device) {
  std::vector<TimedKernel> all;
  const auto add = [&all](const std::vector<TimedKernel>& kernels) {
    all.insert(all.end(), kernels.begin(), kernels.end());
  };
  for (const config::Precision precision : precisions_of(device)) {
    add(product_kernels(precision));
    if (precision == config::Precision::fp16) continue;
    add(block_kernels(precision));
    add(attention_kernels(precision));
    add(stream_kernels(precision, stream_elements()));
  }
  add(call_kernels());
  return all;
}

double seconds_of_call(const KernelBody& run, const tensor::Device& device, Clock clock, double seconds) {
  constexpr double batch_seconds = 0.0005;
  const double until = base::monotonic_seconds() + seconds;
  const auto seconds_of = [&](int batch) {
    const double begin = now_by(clock);
    for (int i = 0; i < batch; ++i) run();
    tensor::synchronize(device);
    return (now_by(clock) - begin) / batch;
  };
  const double once = seconds_of(1);
  const int batch = static_cast<int>(std::clamp(batch_seconds / std::max(once, 1e-7), 1.0, 1e4));
  double best = batch == 1 ? once : seconds_of(batch);
  while (base::monotonic_seconds() < until) best = std::min(best, seconds_of(batch));
  return best;
}

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

tensor::Tensor Operands::empty_float(const tensor::Sizes& sizes) const {
  return tensor::empty_float(sizes, numbers_.device());
}

namespace {

struct ProductShape {
  std::int64_t M, I, O;
};

constexpr ProductShape product_shapes[] = {{64, 128, 384},   {64, 512, 512},   {64, 1024, 4096},  {128, 4096, 1024},
                                           {256, 256, 768},  {256, 1024, 256}, {256, 1024, 1024}, {512, 128, 128},
                                           {512, 512, 1536}, {1024, 256, 256}, {1024, 256, 1536}, {1024, 768, 768},
                                           {2048, 128, 512}, {2048, 512, 512}};

KernelBody product_of(const ProductShape& s, const Operands& operands) {
  const tensor::Tensor x_MI = operands.random({s.M, s.I}), w_OI = operands.random({s.O, s.I});
  return [=] { kernels::linear_forward(x_MI, w_OI); };
}

KernelBody input_gradient_of(const ProductShape& s, const Operands& operands) {
  const tensor::Tensor dy_MO = operands.random({s.M, s.O}), w_OI = operands.random({s.O, s.I});
  return [=] { kernels::linear_backward_input(dy_MO, w_OI); };
}

KernelBody weight_gradient_of(const ProductShape& s, const Operands& operands) {
  const tensor::Tensor dy_MO = operands.random({s.M, s.O}), x_MI = operands.random({s.M, s.I}),
                   dw_OI = operands.empty_float({s.O, s.I});
  return [=] { kernels::linear_backward_weight(dy_MO, x_MI, dw_OI); };
}

}  // namespace

std::vector<TimedKernel> product_kernels(config::Precision precision) {
  std::vector<TimedKernel> kernels;
  for (const ProductShape& s : product_shapes) {
    const shape::Product product{shape::Operation::qkv_product, s.I, s.O};
    const std::int64_t bytes = config::bytes_of(precision);
    const auto add = [&](const base::Text& pass, const shape::Work& work, auto body) {
      kernels.push_back({base::say("linear {} M {} I {} O {}", pass, s.M, s.I, s.O), KernelKind::product, precision,
                         work, 1, [=](const tensor::Device& device) { return body(s, Operands(device, precision)); }});
    };
    add(base::say("forward"), shape::product_forward(product, s.M, bytes), product_of);
    add(base::verbatim("dX"), shape::product_forward(product, s.M, bytes), input_gradient_of);
    add(base::verbatim("dW"), shape::product_weight_gradient(product, s.M, bytes), weight_gradient_of);
  }
  return kernels;
}

namespace {

constexpr int grid_shift = 30;  // a billion small numbers can be added
constexpr double leaves = 4;    // of a step

struct Stream {
  base::Text name;
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

// The streams of gradients in every precision: gradients are fp32.
std::vector<Stream> gradient_streams() {
  using kernels::Into;
  return {{base::say("first gradient on the grid"), 1, 4 + 8,
           [](const Operands& o, std::int64_t P) { return leaf_on_grid(o, P, Into::fresh); }},
          {base::say("gradient added on the grid"), leaves - 1, 4 + 8 + 8,
           [](const Operands& o, std::int64_t P) { return leaf_on_grid(o, P, Into::sum); }},
          {base::say("sum to fp32"), 1, 8 + 4,
           [](const Operands& o, std::int64_t P) {
             const tensor::Tensor x = o.random_float({P}), sum = integers_of(x);
             return [=] { kernels::from_integers(sum, {{P, grid_shift}}, x); };
           }},
          {base::say("squares of the sum"), 1, 8, [](const Operands& o, std::int64_t P) {
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
      {base::verbatim("adamw"), 1, 7 * 4 + rounded, [=](const Operands& o, std::int64_t P) { return adamw_step(o, P, precision); }});
  std::vector<TimedKernel> kernels;
  for (const Stream& stream : streams) {
    kernels.push_back({base::say("{} P {}", stream.name, elements),
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
