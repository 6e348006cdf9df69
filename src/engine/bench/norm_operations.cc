#include <fmt/format.h>

#include "bench/operations.h"
#include "kernels/rows.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

struct NormInputs {
  tensor::Tensor x_MD, w_D, bias_D, dy_MD, plus_MD;
};

NormInputs inputs_of(const StepShapes& s) {
  const std::int64_t M = s.M(), D = s.model.hidden;
  return {s.normal({M, D}), s.normal({D}), s.normal({D}), s.normal({M, D}), s.normal({M, D})};
}

template <class Forward, class Backward>
auto rms_backward(const NormInputs& in, double eps, Forward forward, Backward backward) {
  kernels::RmsNormSaved saved;
  forward(in.x_MD, in.w_D, eps, &saved, tensor::Tensor());
  return [=, dw_D = tensor::empty(in.w_D.sizes(), in.w_D.device())] {
    return std::vector{backward(in.dy_MD, in.x_MD, in.w_D, saved, dw_D, in.plus_MD), dw_D};
  };
}

template <class Forward, class Backward>
auto layer_backward(const NormInputs& in, double eps, Forward forward, Backward backward) {
  kernels::LayerNormSaved saved;
  forward(in.x_MD, in.w_D, in.bias_D, eps, &saved, tensor::Tensor());
  return [=, dw_D = tensor::empty(in.w_D.sizes(), in.w_D.device()), dbias_D = tensor::empty(in.w_D.sizes(), in.w_D.device())] {
    return std::vector{backward(in.dy_MD, in.x_MD, in.w_D, saved, dw_D, dbias_D, in.plus_MD), dw_D, dbias_D};
  };
}

Body rms_forward_body(const StepShapes& s) {
  const auto body = [in = inputs_of(s), eps = s.model.norm_eps](auto forward) {
    return [=] {
      kernels::RmsNormSaved saved;
      const tensor::Tensor y_MD = forward(in.x_MD, in.w_D, eps, &saved, tensor::Tensor());
      return std::vector{y_MD, saved.rstd_M};
    };
  };
  return body(kernels::rms_norm_forward);
}

Body layer_forward_body(const StepShapes& s) {
  const auto body = [in = inputs_of(s), eps = s.model.norm_eps](auto forward) {
    return [=] {
      kernels::LayerNormSaved saved;
      const tensor::Tensor y_MD = forward(in.x_MD, in.w_D, in.bias_D, eps, &saved, tensor::Tensor());
      return std::vector{y_MD, saved.rstd_M};
    };
  };
  return body(kernels::layer_norm_forward);
}

}  // namespace

void add_norms(const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), D = s.model.hidden;
  const double eps = s.model.norm_eps, MD = s.element_bytes() * static_cast<double>(M * D);
  const bool layer = s.model.architecture == config::Family::gpt2;
  const std::string name = layer ? "layer norm" : "rms norm", shape = fmt::format("M {} D {}", M, D);
  const std::int64_t calls = 2 * s.per_layer() + s.microbatches;
  const auto forward = [=] { return layer ? layer_forward_body(s) : rms_forward_body(s); };
  const auto backward = [=]() -> Body {
    const NormInputs in = inputs_of(s);
    if (layer) return layer_backward(in, eps, kernels::layer_norm_forward, kernels::layer_norm_backward);
    return rms_backward(in, eps, kernels::rms_norm_forward, kernels::rms_norm_backward);
  };
  operations.push_back({name + " forward", shape, calls, 0, 2 * MD, forward});
  operations.push_back({name + " backward", shape, calls, 0, 4 * MD, backward});
}

}  // namespace troika::bench
