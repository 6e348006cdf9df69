#include <fmt/format.h>

#include <map>

#include "base/say.h"
#include "bench/operations.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "shape/layout.h"
#include "shape/shard_plan.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

Body add_body(const StepShapes& s, std::int64_t P) {
  const tensor::Tensor sum = normal_numbers({P}, s.device), other = normal_numbers({P}, s.device);
  return [=] { kernels::add_into(sum, other); };
}

Body add_on_grid_body(const StepShapes& s, std::int64_t P) {
  const tensor::Tensor sum = tensor::zeros({P}, {tensor::Dtype::int64, s.device}), leaf = normal_numbers({P}, s.device);
  const tensor::Tensor largest = tensor::zeros({1}, {tensor::Dtype::int32, s.device});
  return [=] { kernels::add_on_grid(sum, leaf, {{P, 40}}, kernels::Into::sum, largest); };
}

Body squares_body(const StepShapes& s, std::int64_t P) {
  return [=, x = normal_numbers({P}, s.device)] { kernels::chunk_squares(x, {P}, shape::norm_chunk); };
}

Body adamw_body(const StepShapes& s, std::int64_t P) {
  const kernels::AdamW settings{3e-4, 0.9, 0.95, 1e-8, 10, 1.0};
  constexpr double weight_decay = 0.1;
  const tensor::Tensor parameter = normal_numbers({P}, s.device), gradient = normal_numbers({P}, s.device);
  const tensor::Tensor m = normal_numbers({P}, s.device), v = tensor::ones({P}, s.device);
  const tensor::TensorType half{s.dtype, s.device};
  const tensor::Tensor rounded = half.dtype == tensor::Dtype::fp32 ? tensor::Tensor() : tensor::empty({P}, half);
  return [=] { kernels::adamw(settings, {{P, weight_decay}}, {parameter, gradient, m, v, rounded}); };
}

// How many segments have so many parameters.
std::map<std::int64_t, std::int64_t> segments_by_size(const config::ModelSettings& model) {
  std::map<std::int64_t, std::int64_t> found;
  for (int segment = 0; segment < shape::segment_count(model); ++segment) {
    std::int64_t elements = 0;
    for (const shape::ParameterInfo& info : shape::segment_parameters(model, segment)) elements += info.elements();
    if (elements > 0) ++found[elements];
  }
  return found;
}

}  // namespace

void add_flat(const StepShapes& s, Operations& operations) {
  for (const auto& [P, segments] : segments_by_size(s.model)) {
    const std::string shape = fmt::format("P {}", P);
    const double bytes = 4.0 * static_cast<double>(P);
    const auto add = [&, s, P = P](const base::Text& name, std::int64_t calls, double passes, auto bodies) {
      if (calls > 0) operations.push_back({name, shape, calls, 0, passes * bytes, [=] { return bodies(s, P); }});
    };
    if (s.microbatches > 2) {  // a pass of floats and two of integers
      add(base::say("add gradients"), segments * s.microbatches, 5, add_on_grid_body);
    } else {
      add(base::say("add gradients"), segments * (s.microbatches - 1), 3, add_body);
    }
    add(base::say("squares"), segments, 1, squares_body);
    add(base::verbatim("adamw"), segments, s.dtype == tensor::Dtype::fp32 ? 7 : 7.5, adamw_body);
  }
}

}  // namespace troika::bench
