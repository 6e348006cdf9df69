#include <fmt/format.h>

#include <numeric>

#include "bench/operations.h"
#include "kernels/rope.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

// Queries or keys as they stand in the product of qkv: heads [first, first + count) of `all`.
struct Heads {
  StepShapes s;
  std::int64_t all, first, count;

  tensor::Tensor view(const tensor::Tensor& qkv) const {
    return qkv.view({s.B, s.T, all, s.model.head_dim}).narrow(2, first, count);
  }
  tensor::Tensor values() const { return view(s.normal({s.M(), all * s.model.head_dim})); }
  tensor::Tensor gradients() const { return view(s.normal({s.M(), all * s.model.head_dim})); }
  kernels::RopeTable rope() const {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(s.T));
    std::iota(positions.begin(), positions.end(), 0);
    return kernels::make_rope_table(positions, {s.model.head_dim, s.model.rope_theta}, s.device);
  }
};

Body normed_forward(const Heads& heads) {
  const tensor::Tensor x = heads.values(), w_H = heads.s.normal({heads.s.model.head_dim});
  const auto body = [=, rope = heads.rope()](auto function) {
    return [=] {
      kernels::QkNormRopeSaved saved;
      const tensor::Tensor y = function(x, w_H, heads.s.model.norm_eps, rope, &saved);
      return std::vector{y, saved.rstd_BTn};
    };
  };
  return body(kernels::qk_norm_rope_forward);
}

Body normed_backward(const Heads& heads) {
  const tensor::Tensor x = heads.values(), w_H = heads.s.normal({heads.s.model.head_dim}), dy = heads.s.normal(x.sizes());
  const auto body = [=, rope = heads.rope()](auto forward, auto backward) {
    kernels::QkNormRopeSaved saved;
    forward(x, w_H, heads.s.model.norm_eps, rope, &saved);
    return [=, dx = heads.gradients(), dw_H = tensor::empty(w_H.sizes(), w_H.device())] {
      backward(dy, x, w_H, rope, saved, dx, dw_H);
      return std::vector{dx, dw_H};
    };
  };
  return body(kernels::qk_norm_rope_forward, kernels::qk_norm_rope_backward);
}

Body plain_forward(const Heads& heads) {
  const auto body = [x = heads.values(), rope = heads.rope()](auto function) {
    return [=] { return std::vector{function(x, rope)}; };
  };
  return body(kernels::rope_forward);
}

Body plain_backward(const Heads& heads) {
  const tensor::Tensor dy = heads.s.normal({heads.s.B, heads.s.T, heads.count, heads.s.model.head_dim});
  const auto body = [=, rope = heads.rope()](auto function) {
    return [=, dx = heads.gradients()] {
      function(dy, rope, dx);
      return std::vector{dx};
    };
  };
  return body(kernels::rope_backward);
}

}  // namespace

void add_rotations(const StepShapes& s, Operations& operations) {
  const config::ModelSettings& m = s.model;
  if (m.architecture == config::Family::gpt2) return;
  const bool normed = m.architecture == config::Family::qwen3;
  const std::int64_t all = m.heads + 2 * m.kv_heads;
  for (const auto& [part, first, count] : {std::tuple{"q", std::int64_t{0}, m.heads}, {"k", m.heads, m.kv_heads}}) {
    const Heads heads{s, all, first, count};
    const std::string name = fmt::format("{} {}", normed ? "norm and rope" : "rope", part);
    const std::string shape = fmt::format("B {} T {} n {} H {}", s.B, s.T, count, m.head_dim);
    const double bytes = s.element_bytes() * static_cast<double>(s.M() * count * m.head_dim);
    operations.push_back({name + " forward", shape, s.per_layer(), 0, 2 * bytes,
                          [=] { return normed ? normed_forward(heads) : plain_forward(heads); }});
    operations.push_back({name + " backward", shape, s.per_layer(), 0, (normed ? 3 : 2) * bytes,
                          [=] { return normed ? normed_backward(heads) : plain_backward(heads); }});
  }
}

}  // namespace troika::bench
