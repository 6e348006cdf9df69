#include <fmt/format.h>

#include "base/say.h"
#include "bench/operations.h"
#include "kernels/linear.h"
#include "kernels/rows.h"
#include "shape/architecture.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

// A weight of a block. GPT-2 stores weights as [I, O]; kernels see the transposed view.
struct Weight {
  StepShapes s;
  base::Text name;
  std::int64_t I, O;
  bool transposed, biased;
  std::int64_t M = s.M();

  tensor::Tensor values() const { return transposed ? s.normal({I, O}).t() : s.normal({O, I}); }
  tensor::Tensor x() const { return s.normal({M, I}); }
  tensor::Tensor dy() const { return s.normal({M, O}); }
  tensor::Tensor gradient() const {
    return transposed ? tensor::empty({I, O}, s.device).t() : tensor::empty({O, I}, s.device);
  }
  std::string shape() const { return fmt::format("M {} I {} O {}", M, I, O); }
  double flops() const { return 2.0 * static_cast<double>(M) * static_cast<double>(I) * static_cast<double>(O); }
  double bytes() const { return s.element_bytes() * static_cast<double>(M * I + I * O + M * O); }
  double gradient_bytes() const {
    return s.element_bytes() * static_cast<double>(M * I + M * O) + 4.0 * static_cast<double>(I * O);
  }
};

Body product_body(const Weight& weight) {
  const tensor::Tensor x_MI = weight.x(), w_OI = weight.values();
  const tensor::Tensor bias_O = weight.biased ? weight.s.normal({weight.O}) : tensor::Tensor();
  return [=] { kernels::linear_forward(x_MI, w_OI, bias_O); };
}

Body input_body(const Weight& weight) {
  const tensor::Tensor dy_MO = weight.dy(), w_OI = weight.values();
  return [=] { kernels::linear_backward_input(dy_MO, w_OI); };
}

Body weight_body(const Weight& weight) {
  const tensor::Tensor dy_MO = weight.dy(), x_MI = weight.x();
  return [=, dw_OI = weight.gradient()] { kernels::linear_backward_weight(dy_MO, x_MI, dw_OI); };
}

Body bias_body(const Weight& weight) {
  const tensor::Tensor dy_MO = weight.dy();
  return [=, dbias_O = tensor::empty({weight.O}, weight.s.device)] { kernels::linear_backward_bias(dy_MO, dbias_O); };
}

std::vector<Weight> weights_of(const StepShapes& s) {
  const config::ModelSettings& m = s.model;
  const std::int64_t D = m.hidden, A = m.heads * m.head_dim;
  const bool gpt2 = m.architecture == config::Family::gpt2;
  return {{s, base::verbatim("qkv"), D, A + 2 * m.kv_heads * m.head_dim, gpt2, gpt2 || m.architecture == config::Family::qwen2},
          {s, base::say("attention out"), A, D, gpt2, gpt2},
          {s, gpt2 ? base::say("feed-forward in") : base::say("gate and up"), D, gpt2 ? m.ffn : 2 * m.ffn, gpt2, gpt2},
          {s, gpt2 ? base::say("feed-forward out") : base::say("down"), m.ffn, D, gpt2, gpt2}};
}

}  // namespace

void add_linears(const StepShapes& s, Operations& operations) {
  const auto add = [&](const Weight& w, const base::Text& pass, double flops, double bytes, auto bodies) {
    operations.push_back({base::say("linear {} {}", w.name, pass), w.shape(), s.per_layer(), flops, bytes,
                          [w, bodies] { return bodies(w); }});
  };
  for (const Weight& w : weights_of(s)) {
    add(w, base::say("forward"), w.flops(), w.bytes(), product_body);
    add(w, base::verbatim("dX"), w.flops(), w.bytes(), input_body);
    add(w, base::verbatim("dW"), w.flops(), w.gradient_bytes(), weight_body);
    if (w.biased) add(w, base::verbatim("dbias"), 0, s.element_bytes() * static_cast<double>(w.M * w.O), bias_body);
  }
}

void add_activations(const StepShapes& s, Operations& operations) {
  const std::int64_t M = s.M(), F = s.model.ffn;
  const std::string shape = fmt::format("M {} F {}", M, F);
  const double MF = s.element_bytes() * static_cast<double>(M * F);
  const auto add = [&](const base::Text& name, double passes, std::function<Body()> prepare) {
    operations.push_back({name, shape, s.per_layer(), 0, passes * MF, std::move(prepare)});
  };
  if (s.model.architecture == config::Family::gpt2) {
    add(base::say("{} forward", "gelu"), 2, [=] { return [x = s.normal({M, F})] { kernels::gelu_forward(x); }; });
    add(base::say("{} backward", "gelu"), 3, [=] {
      return [x = s.normal({M, F}), dy = s.normal({M, F})] { kernels::gelu_backward(dy, x); };
    });
    return;
  }
  const bool gelu = shape::block_kind(s.model, 1).feed_forward == shape::BlockKind::FeedForward::geglu;
  const char* const name = gelu ? "geglu" : "swiglu";
  add(base::say("{} forward", name), 3, [=] {
    return [=, x = s.normal({M, 2 * F})] { gelu ? kernels::geglu_forward(x) : kernels::swiglu_forward(x); };
  });
  add(base::say("{} backward", name), 5, [=] {
    return [=, x = s.normal({M, 2 * F}), dy = s.normal({M, F})] { gelu ? kernels::geglu_backward(dy, x) : kernels::swiglu_backward(dy, x); };
  });
}

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
