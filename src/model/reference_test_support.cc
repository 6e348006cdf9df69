#include "model/reference_test_support.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace troika::model {
namespace {

class Reference {
 public:
  Reference(const config::ModelSettings& model, const Weights& weights) : m_(model), w_(weights) {}

  // [B, T] ids -> [B, T, V] logits.
  at::Tensor logits(const at::Tensor& ids) const {
    at::Tensor x =
        w_.at("model.embed_tokens.weight").index_select(0, ids.flatten()).view({ids.size(0), ids.size(1), -1});
    for (std::int64_t layer = 0; layer < m_.layers; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      x = x + attention(norm(x, at + "input_layernorm"), at + "self_attn.");
      x = x + feed_forward(norm(x, at + "post_attention_layernorm"), at + "mlp.");
    }
    return project(norm(x, "model.norm"), m_.tie_embeddings ? "model.embed_tokens" : "lm_head");
  }

 private:
  at::Tensor project(const at::Tensor& x, const std::string& name) const {
    return at::matmul(x, w_.at(name + ".weight").t());
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return w_.at(name + ".weight") * x * at::rsqrt(at::pow(x, 2).mean(-1, true) + m_.norm_eps);
  }
  at::Tensor feed_forward(const at::Tensor& x, const std::string& at) const {
    const at::Tensor gate = project(x, at + "gate_proj");
    return project(gate * at::sigmoid(gate) * project(x, at + "up_proj"), at + "down_proj");
  }
  // [B, T, n * H] -> [B, n, T, H]
  at::Tensor split(const at::Tensor& x, std::int64_t n) const {
    return x.view({x.size(0), x.size(1), n, m_.head_dim}).transpose(1, 2);
  }
  at::Tensor rope(const at::Tensor& x_BnTH) const {
    const std::int64_t T = x_BnTH.size(2), H = m_.head_dim;
    const auto options = at::TensorOptions().dtype(at::kDouble);
    const at::Tensor inverse =
        at::exp(at::arange(0, H, 2, options) * (-std::log(m_.rope_theta) / static_cast<double>(H)));
    const at::Tensor half_angles = at::outer(at::arange(T, options), inverse);
    const at::Tensor angles = at::cat({half_angles, half_angles}, 1);
    const auto halves = x_BnTH.split(H / 2, 3);
    return x_BnTH * angles.cos() + at::cat({-halves[1], halves[0]}, 3) * angles.sin();
  }
  at::Tensor attention(const at::Tensor& x, const std::string& at) const {
    const std::int64_t T = x.size(1), group = m_.heads / m_.kv_heads;
    const at::Tensor q = rope(norm(split(project(x, at + "q_proj"), m_.heads), at + "q_norm"));
    const at::Tensor k = rope(norm(split(project(x, at + "k_proj"), m_.kv_heads), at + "k_norm"));
    const at::Tensor v = split(project(x, at + "v_proj"), m_.kv_heads);
    const at::Tensor scores =
        at::matmul(q, k.repeat_interleave(group, 1).transpose(2, 3)) / std::sqrt(static_cast<double>(m_.head_dim));
    const at::Tensor mask = at::full({T, T}, -std::numeric_limits<double>::infinity(), at::kDouble).triu(1);
    const at::Tensor out = at::matmul(at::softmax(scores + mask, -1), v.repeat_interleave(group, 1));
    return project(out.transpose(1, 2).reshape({x.size(0), T, -1}), at + "o_proj");
  }

  const config::ModelSettings& m_;
  const Weights& w_;
};

}  // namespace

at::Tensor reference_logits(const config::ModelSettings& model, const Weights& weights, const at::Tensor& ids_BT) {
  return Reference(model, weights).logits(ids_BT);
}

at::Tensor reference_loss_sum(const config::ModelSettings& model, const Weights& weights, const at::Tensor& ids_BT,
                              const at::Tensor& targets_BT) {
  const at::Tensor logits = reference_logits(model, weights, ids_BT).flatten(0, 1), targets = targets_BT.flatten();
  const at::Tensor counted = at::nonzero(targets != -100).flatten();
  const at::Tensor chosen = targets.index_select(0, counted).unsqueeze(1);
  return -at::log_softmax(logits.index_select(0, counted), 1).gather(1, chosen).sum();
}

void reference_backward(const at::Tensor& loss) { torch::autograd::backward({loss}, {}); }

}  // namespace troika::model
