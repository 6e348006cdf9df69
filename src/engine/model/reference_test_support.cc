#include "model/reference_test_support.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

// Causal: [B, n, T, H] queries, keys and values to [B, T, n * H].
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const std::int64_t T = q.size(2);
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor mask = at::full({T, T}, -std::numeric_limits<double>::infinity(), at::kDouble).triu(1);
  return at::matmul(at::softmax(scores + mask, -1), v).transpose(1, 2).reshape({q.size(0), T, -1});
}

// [B, T, n * H] -> [B, n, T, H]
at::Tensor by_head(const at::Tensor& x, std::int64_t n) {
  return x.view({x.size(0), x.size(1), n, x.size(2) / n}).transpose(1, 2);
}

at::Tensor look_up(const at::Tensor& table, const at::Tensor& ids) {
  return table.index_select(0, ids.flatten()).view({ids.size(0), ids.size(1), -1});
}

// The angle by which pair i turns per position: the published rules, by wavelength.
double angle_of(const config::ModelSettings& m, std::int64_t i) {
  const double frequency =
      std::exp(-std::log(m.rope_theta) * 2 * static_cast<double>(i) / static_cast<double>(m.head_dim));
  if (m.rope_scaling == config::RopeScaling::none) return frequency;
  if (m.rope_scaling == config::RopeScaling::linear) return frequency / m.rope_factor;
  const double wavelength = 2 * std::acos(-1.0) / frequency, trained = static_cast<double>(m.rope_original_positions);
  if (wavelength < trained / m.rope_high_freq_factor) return frequency;
  if (wavelength > trained / m.rope_low_freq_factor) return frequency / m.rope_factor;
  const double smooth =
      (trained / wavelength - m.rope_low_freq_factor) / (m.rope_high_freq_factor - m.rope_low_freq_factor);
  return (1 - smooth) * frequency / m.rope_factor + smooth * frequency;
}

// Qwen3, Qwen2, Llama, Mistral.
class Llama {
 public:
  Llama(const config::ModelSettings& model, const Weights& weights) : m_(model), w_(weights) {}

  // [B, T] ids -> [B, T, V] logits.
  at::Tensor logits(const at::Tensor& ids) const {
    at::Tensor x = look_up(w_.at("model.embed_tokens.weight"), ids);
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
  at::Tensor rope(const at::Tensor& x_BnTH) const {
    const std::int64_t T = x_BnTH.size(2), H = m_.head_dim;
    std::vector<double> angle;
    for (std::int64_t i = 0; i < H / 2; ++i) angle.push_back(angle_of(m_, i));
    const at::Tensor half_angles = at::outer(at::arange(T, at::kDouble), at::tensor(angle, at::kDouble));
    const at::Tensor angles = at::cat({half_angles, half_angles}, 1);
    const auto halves = x_BnTH.split(H / 2, 3);
    return x_BnTH * angles.cos() + at::cat({-halves[1], halves[0]}, 3) * angles.sin();
  }
  // Queries, keys or values by head.
  at::Tensor heads(const at::Tensor& x, const std::string& name, std::int64_t n) const {
    const at::Tensor y = project(x, name);
    return by_head(m_.architecture == config::Family::qwen2 ? y + w_.at(name + ".bias") : y, n);
  }
  at::Tensor turned(const at::Tensor& x_BnTH, const std::string& norm_name) const {
    return rope(m_.architecture == config::Family::qwen3 ? norm(x_BnTH, norm_name) : x_BnTH);
  }
  at::Tensor attention(const at::Tensor& x, const std::string& at) const {
    const std::int64_t group = m_.heads / m_.kv_heads;
    const at::Tensor q = turned(heads(x, at + "q_proj", m_.heads), at + "q_norm");
    const at::Tensor k = turned(heads(x, at + "k_proj", m_.kv_heads), at + "k_norm");
    const at::Tensor v = heads(x, at + "v_proj", m_.kv_heads);
    return project(attend(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)), at + "o_proj");
  }

  const config::ModelSettings& m_;
  const Weights& w_;
};

class Gpt2 {
 public:
  Gpt2(const config::ModelSettings& model, const Weights& weights) : m_(model), w_(weights) {}

  // [B, T] ids -> [B, T, V] logits.
  at::Tensor logits(const at::Tensor& ids) const {
    at::Tensor x = look_up(w_.at("transformer.wte.weight"), ids) +
                   w_.at("transformer.wpe.weight").slice(0, 0, ids.size(1)).unsqueeze(0);
    for (std::int64_t layer = 0; layer < m_.layers; ++layer) {
      const std::string at = fmt::format("transformer.h.{}.", layer);
      const auto qkv = conv(norm(x, at + "ln_1"), at + "attn.c_attn").chunk(3, 2);
      const at::Tensor out = attend(by_head(qkv[0], m_.heads), by_head(qkv[1], m_.heads), by_head(qkv[2], m_.heads));
      x = x + conv(out, at + "attn.c_proj");
      x = x + conv(gelu(conv(norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj");
    }
    const std::string table = m_.tie_embeddings ? "transformer.wte.weight" : "lm_head.weight";
    return at::matmul(norm(x, "transformer.ln_f"), w_.at(table).t());
  }

 private:
  at::Tensor conv(const at::Tensor& x, const std::string& name) const {
    return at::matmul(x, w_.at(name + ".weight")) + w_.at(name + ".bias");
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor centred = x - x.mean(-1, true);
    const at::Tensor variance = at::pow(centred, 2).mean(-1, true);
    return centred / at::sqrt(variance + m_.norm_eps) * w_.at(name + ".weight") + w_.at(name + ".bias");
  }
  static at::Tensor gelu(const at::Tensor& x) {
    return 0.5 * x * (1 + at::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * at::pow(x, 3))));
  }

  const config::ModelSettings& m_;
  const Weights& w_;
};

}  // namespace

at::Tensor reference_logits(const config::ModelSettings& model, const Weights& weights, const at::Tensor& ids_BT) {
  if (model.architecture == config::Family::gpt2) return Gpt2(model, weights).logits(ids_BT);
  return Llama(model, weights).logits(ids_BT);
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
