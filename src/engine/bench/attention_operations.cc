#include <fmt/format.h>

#include "bench/operations.h"
#include "kernels/attention.h"

namespace troika::bench {

static kernels::AttentionInput input_of(const StepShapes& s) {
  const config::ModelSettings& m = s.model;
  kernels::AttentionInput in;
  in.q_BTnH = s.normal({s.B, s.T, m.heads, m.head_dim});
  in.k_BSkH = s.normal({s.B, s.T, m.kv_heads, m.head_dim});
  in.v_BSkH = s.normal({s.B, s.T, m.kv_heads, m.head_dim});
  for (std::int64_t head = 0; head < m.heads; ++head) in.kv_of_head.push_back(head / (m.heads / m.kv_heads));
  return in;
}

static Body forward_body(const StepShapes& s) {
  const auto body = [in = input_of(s)](auto function) {
    return [=] {
      const kernels::AttentionOutput output = function(in);
      return std::vector{output.out_BTnH, output.lse_BnT};
    };
  };
  return body(kernels::attention_forward);
}

static Body backward_body(const StepShapes& s) {
  const kernels::AttentionInput in = input_of(s);
  const auto body = [=, dout = s.normal(in.q_BTnH.sizes())](auto forward, auto backward) {
    return [=, output = forward(in)] {
      const kernels::AttentionGradients d = backward(dout, in, output);
      return std::vector{d.dq_BTnH, d.dk_BSkH, d.dv_BSkH};
    };
  };
  return body(kernels::attention_forward, kernels::attention_backward);
}

// Causal: half of the square. Backward counts twice forward, although it computes the scores once more: that is what a
// step cannot do without.
void add_attention(const StepShapes& s, Operations& operations) {
  const config::ModelSettings& m = s.model;
  const std::string shape = fmt::format("B {} T {} n {} k {} H {}", s.B, s.T, m.heads, m.kv_heads, m.head_dim);
  const double flops = 2.0 * static_cast<double>(s.B * m.heads * m.head_dim) * static_cast<double>(s.T * s.T);
  const auto rows = static_cast<double>(s.M() * m.head_dim);
  const double bytes = s.element_bytes() * rows * static_cast<double>(2 * m.heads + 2 * m.kv_heads);
  operations.push_back({"attention forward", shape, s.per_layer(), flops, bytes, [s] { return forward_body(s); }});
  operations.push_back(
      {"attention backward", shape, s.per_layer(), 2 * flops, 2 * bytes, [s] { return backward_body(s); }});
}

}  // namespace troika::bench
