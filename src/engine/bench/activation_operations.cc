#include <fmt/format.h>

#include "bench/operations.h"
#include "kernels/rows.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

template <class Function>
auto one(Function function, const tensor::Tensor& x) {
  return [=] { return std::vector{function(x)}; };
}
template <class Function>
auto two(Function function, const tensor::Tensor& dy, const tensor::Tensor& x) {
  return [=] { return std::vector{function(dy, x)}; };
}

}  // namespace

void add_activations(const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), F = s.model.ffn;
  const std::string shape = fmt::format("M {} F {}", M, F);
  const double MF = s.element_bytes() * static_cast<double>(M * F);
  const auto add = [&](const char* name, double passes, std::function<Body()> prepare) {
    operations.push_back({name, shape, s.per_layer(), 0, passes * MF, std::move(prepare)});
  };
  if (s.model.architecture == config::Family::gpt2) {
    add("gelu forward", 2, [=] {
      const tensor::Tensor x = s.normal({M, F});
      return one(kernels::gelu_forward, x);
    });
    add("gelu backward", 3, [=] {
      const tensor::Tensor x = s.normal({M, F}), dy = s.normal({M, F});
      return two(kernels::gelu_backward, dy, x);
    });
    return;
  }
  add("swiglu forward", 3, [=] {
    const tensor::Tensor x = s.normal({M, 2 * F});
    return one(kernels::swiglu_forward, x);
  });
  add("swiglu backward", 5, [=] {
    const tensor::Tensor x = s.normal({M, 2 * F}), dy = s.normal({M, F});
    return two(kernels::swiglu_backward, dy, x);
  });
}

}  // namespace troika::bench
