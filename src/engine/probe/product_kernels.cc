#include <fmt/format.h>

#include "kernels/linear.h"
#include "probe/timed_kernel.h"
#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::probe {
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
    const auto add = [&](const char* pass, const shape::Work& work, auto body) {
      kernels.push_back({fmt::format("linear {} M {} I {} O {}", pass, s.M, s.I, s.O), KernelKind::product, precision,
                         work, 1, [=](const tensor::Device& device) { return body(s, Operands(device, precision)); }});
    };
    add("forward", shape::product_forward(product, s.M, bytes), product_of);
    add("dX", shape::product_forward(product, s.M, bytes), input_gradient_of);
    add("dW", shape::product_weight_gradient(product, s.M, bytes), weight_gradient_of);
  }
  return kernels;
}

}  // namespace troika::probe
