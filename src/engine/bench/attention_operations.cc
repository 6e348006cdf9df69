#include <fmt/format.h>

#include <numeric>

#include "base/say.h"
#include "bench/operations.h"
#include "kernels/attention.h"
#include "kernels/rope.h"
#include "shape/architecture.h"
#include "tensor/tensor.h"

namespace troika::bench {

static kernels::AttentionInput input_of(const StepShapes& s, std::int64_t window) {
  const config::ModelSettings& m = s.model;
  kernels::AttentionInput in;
  in.q_BTnH = s.normal({1, s.M(), m.heads, m.head_dim});
  in.k_BSkH = s.normal({1, s.M(), m.kv_heads, m.head_dim});
  in.v_BSkH = s.normal({1, s.M(), m.kv_heads, m.head_dim});
  in.parts = kernels::equal_parts(s.B, s.T);
  in.rule = {m.attention_scale, window};
  for (std::int64_t head = 0; head < m.heads; ++head) in.kv_of_head.push_back(head / (m.heads / m.kv_heads));
  return in;
}

static Body forward_body(const StepShapes& s, std::int64_t window) {
  return [in = input_of(s, window)] { kernels::attention_forward(in); };
}

static Body backward_body(const StepShapes& s, std::int64_t window) {
  const kernels::AttentionInput in = input_of(s, window);
  return [=, dout = s.normal(in.q_BTnH.sizes()), output = kernels::attention_forward(in)] {
    kernels::attention_backward(dout, in, output);
  };
}

// Causal: half of the square, or of what a window shows. Backward counts twice forward, although it computes the scores once more: that
// is what a step cannot do without.
static void add_attention_of(const StepShapes& s, const shape::BlockKind& kind, std::int64_t layers, Operations& operations) {
  const config::ModelSettings& m = s.model;
  const std::int64_t window = shape::window_of(m, kind), calls = layers * s.microbatches;
  const std::string shape = fmt::format("B {} T {} n {} k {} H {}{}", s.B, s.T, m.heads, m.kv_heads, m.head_dim,
                                        window > 0 ? fmt::format(" W {}", window) : "");
  const auto T = static_cast<double>(s.T), B = static_cast<double>(s.B);
  const double flops = 2 * static_cast<double>(m.heads * m.head_dim) * shape::seen_pairs(m, kind, B * T, B * T * T);
  const auto rows = static_cast<double>(s.M() * m.head_dim);
  const double bytes = s.element_bytes() * rows * static_cast<double>(2 * m.heads + 2 * m.kv_heads);
  operations.push_back({base::say("{} forward", base::say("attention")), shape, calls, flops, bytes, [=] { return forward_body(s, window); }});
  operations.push_back(
      {base::say("{} backward", base::say("attention")), shape, calls, 2 * flops, 2 * bytes, [=] { return backward_body(s, window); }});
}

void add_attention(const StepShapes& s, Operations& operations) {
  for (const auto attention : {shape::BlockKind::Attention::full, shape::BlockKind::Attention::window}) {
    std::int64_t layers = 0;
    shape::BlockKind kind;
    kind.attention = attention;
    for (int segment = 1; segment <= static_cast<int>(s.model.layers); ++segment)
      layers += shape::block_kind(s.model, segment).attention == attention ? 1 : 0;
    if (layers > 0) add_attention_of(s, kind, layers, operations);
  }
}

namespace {

// Queries or keys as they lie in the product of qkv: heads [first, first + count) of `all`.
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
  return [=, eps = heads.s.model.norm_eps, rope = heads.rope()] {
    kernels::QkNormRopeSaved saved;
    kernels::qk_norm_rope_forward(x, w_H, eps, rope, &saved);
  };
}

Body normed_backward(const Heads& heads) {
  const tensor::Tensor x = heads.values(), w_H = heads.s.normal({heads.s.model.head_dim}),
                       dy = heads.s.normal(x.sizes());
  const kernels::RopeTable rope = heads.rope();
  kernels::QkNormRopeSaved saved;
  kernels::qk_norm_rope_forward(x, w_H, heads.s.model.norm_eps, rope, &saved);
  return [=, dx = heads.gradients(), dw_H = tensor::empty(w_H.sizes(), w_H.device())] {
    kernels::qk_norm_rope_backward(dy, x, w_H, rope, saved, dx, dw_H);
  };
}

Body plain_forward(const Heads& heads) {
  return [x = heads.values(), rope = heads.rope()] { kernels::rope_forward(x, rope); };
}

Body plain_backward(const Heads& heads) {
  const tensor::Tensor dy = heads.s.normal({heads.s.B, heads.s.T, heads.count, heads.s.model.head_dim});
  return [=, rope = heads.rope(), dx = heads.gradients()] { kernels::rope_backward(dy, rope, dx); };
}

}  // namespace

void add_rotations(const StepShapes& s, Operations& operations) {
  const config::ModelSettings& m = s.model;
  const shape::BlockKind kind = shape::block_kind(m, 1);
  if (!kind.rotates()) return;
  const bool normed = kind.norms_heads();
  const std::int64_t all = m.heads + 2 * m.kv_heads;
  for (const auto& [part, first, count] : {std::tuple{"q", std::int64_t{0}, m.heads}, {"k", m.heads, m.kv_heads}}) {
    const Heads heads{s, all, first, count};
    const std::string shape = fmt::format("B {} T {} n {} H {}", s.B, s.T, count, m.head_dim);
    const double bytes = s.element_bytes() * static_cast<double>(s.M() * count * m.head_dim);
    operations.push_back({normed ? base::say("norm and rope {} forward", part) : base::say("rope {} forward", part), shape,
                          s.per_layer(), 0, 2 * bytes,
                          [=] { return normed ? normed_forward(heads) : plain_forward(heads); }});
    operations.push_back({normed ? base::say("norm and rope {} backward", part) : base::say("rope {} backward", part), shape,
                          s.per_layer(), 0, (normed ? 3 : 2) * bytes,
                          [=] { return normed ? normed_backward(heads) : plain_backward(heads); }});
  }
}

}  // namespace troika::bench
