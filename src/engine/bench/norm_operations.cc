#include <fmt/format.h>

#include "base/say.h"
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

Body rms_forward(const NormInputs& in, double eps) {
  return [=] {
    kernels::RmsNormSaved saved;
    kernels::rms_norm_forward(in.x_MD, in.w_D, eps, &saved, tensor::Tensor());
  };
}

Body rms_backward(const NormInputs& in, double eps) {
  kernels::RmsNormSaved saved;
  kernels::rms_norm_forward(in.x_MD, in.w_D, eps, &saved, tensor::Tensor());
  return [=, dw_D = tensor::empty(in.w_D.sizes(), in.w_D.device())] {
    kernels::rms_norm_backward(in.dy_MD, in.x_MD, in.w_D, saved, dw_D, in.plus_MD);
  };
}

Body layer_forward(const NormInputs& in, double eps) {
  return [=] {
    kernels::LayerNormSaved saved;
    kernels::layer_norm_forward(in.x_MD, in.w_D, in.bias_D, eps, &saved, tensor::Tensor());
  };
}

Body layer_backward(const NormInputs& in, double eps) {
  kernels::LayerNormSaved saved;
  kernels::layer_norm_forward(in.x_MD, in.w_D, in.bias_D, eps, &saved, tensor::Tensor());
  const auto gradient_D = [&] { return tensor::empty(in.w_D.sizes(), in.w_D.device()); };
  return [=, dw_D = gradient_D(), dbias_D = gradient_D()] {
    kernels::layer_norm_backward(in.dy_MD, in.x_MD, in.w_D, saved, dw_D, dbias_D, in.plus_MD);
  };
}

}  // namespace

void add_norms(const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), D = s.model.hidden;
  const double eps = s.model.norm_eps, MD = s.element_bytes() * static_cast<double>(M * D);
  const bool layer = s.model.architecture == config::Family::gpt2;
  const base::Text name = layer ? base::say("layer norm") : base::say("rms norm");
  const std::string shape = fmt::format("M {} D {}", M, D);
  const std::int64_t calls = 2 * s.per_layer() + s.microbatches;
  operations.push_back({base::say("{} forward", name), shape, calls, 0, 2 * MD,
                        [=] { return (layer ? layer_forward : rms_forward)(inputs_of(s), eps); }});
  operations.push_back({base::say("{} backward", name), shape, calls, 0, 4 * MD,
                        [=] { return (layer ? layer_backward : rms_backward)(inputs_of(s), eps); }});
}

}  // namespace troika::bench
