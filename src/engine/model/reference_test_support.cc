#include "model/reference_test_support.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

// Causal: [B, n, T, H] queries, keys and values to [B, T, n * H]. scale 0: 1 / sqrt(H); window 0: none.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale = 0, std::int64_t window = 0) {
  const std::int64_t T = q.size(2);
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * (scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(3))));
  const at::Tensor hidden = at::full({T, T}, -std::numeric_limits<double>::infinity(), at::kDouble);
  const at::Tensor mask = window > 0 ? hidden.triu(1) + hidden.tril(-window) : hidden.triu(1);
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
double angle_of(const config::ModelSettings& m, bool local, std::int64_t i) {
  const double frequency = std::exp(-std::log(local ? m.rope_local_theta : m.rope_theta) * 2 * static_cast<double>(i) /
                                    static_cast<double>(m.head_dim));
  if (local) return frequency;
  if (m.rope_scaling == config::RopeScaling::none) return frequency;
  if (m.rope_scaling == config::RopeScaling::linear) return frequency / m.rope_factor;
  if (m.rope_scaling == config::RopeScaling::yarn) {
    const auto pair = [&](double turns) {
      return static_cast<double>(m.head_dim) * std::log(static_cast<double>(m.rope_original_positions) / (turns * 2 * std::acos(-1.0))) /
             (2 * std::log(m.rope_theta));
    };
    const double low = std::max(0.0, std::floor(pair(m.rope_beta_fast))), high = std::ceil(pair(m.rope_beta_slow));
    const double ramp = std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
    return frequency * (1 - ramp) + frequency / m.rope_factor * ramp;
  }
  const double wavelength = 2 * std::acos(-1.0) / frequency, trained = static_cast<double>(m.rope_original_positions);
  if (wavelength < trained / m.rope_high_freq_factor) return frequency;
  if (wavelength > trained / m.rope_low_freq_factor) return frequency / m.rope_factor;
  const double smooth =
      (trained / wavelength - m.rope_low_freq_factor) / (m.rope_high_freq_factor - m.rope_low_freq_factor);
  return (1 - smooth) * frequency / m.rope_factor + smooth * frequency;
}

at::Tensor tanh_gelu(const at::Tensor& x) {
  return 0.5 * x * (1 + at::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * at::pow(x, 3))));
}

// All families but GPT-2.
class Llama {
 public:
  Llama(const config::ModelSettings& model, const Weights& weights) : m_(model), w_(weights) {}

  // [B, T] ids -> [B, T, V] logits.
  at::Tensor logits(const at::Tensor& ids) const {
    at::Tensor x = look_up(w_.at("model.embed_tokens.weight"), ids) * m_.embedding_scale;
    if (is_gemma()) x = x * std::sqrt(static_cast<double>(m_.hidden));
    for (std::int64_t layer = 0; layer < m_.layers; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      const at::Tensor attended = attention(norm(x, at + "input_layernorm"), layer);
      x = x + m_.residual_scale * (is_gemma() ? norm(attended, at + "post_attention_layernorm") : attended);
      const at::Tensor fed = feed_forward(norm(x, at + (is_gemma() ? "pre_feedforward_layernorm" : "post_attention_layernorm")), at + "mlp.");
      x = x + m_.residual_scale * (is_gemma() ? norm(fed, at + "post_feedforward_layernorm") : fed);
    }
    return project(norm(x, "model.norm"), m_.tie_embeddings ? "model.embed_tokens" : "lm_head") / m_.logits_divisor;
  }

 private:
  bool is_gemma() const { return m_.architecture == config::Family::gemma3_text; }
  at::Tensor project(const at::Tensor& x, const std::string& name) const {
    return at::matmul(x, w_.at(name + ".weight").t());
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor w = w_.at(name + ".weight");
    return (is_gemma() ? 1 + w : w) * x * at::rsqrt(at::pow(x, 2).mean(-1, true) + m_.norm_eps);
  }
  at::Tensor feed_forward(const at::Tensor& x, const std::string& at) const {
    const at::Tensor gate = project(x, at + "gate_proj");
    return project((is_gemma() ? tanh_gelu(gate) : gate * at::sigmoid(gate)) * project(x, at + "up_proj"), at + "down_proj");
  }
  at::Tensor rope(const at::Tensor& x_BnTH, bool local) const {
    const std::int64_t T = x_BnTH.size(2), H = m_.head_dim;
    std::vector<double> angle;
    for (std::int64_t i = 0; i < H / 2; ++i) angle.push_back(angle_of(m_, local, i));
    const at::Tensor half_angles = at::outer(at::arange(T, at::kDouble), at::tensor(angle, at::kDouble));
    const at::Tensor angles = at::cat({half_angles, half_angles}, 1);
    const auto halves = x_BnTH.split(H / 2, 3);
    const double magnitude = m_.rope_scaling == config::RopeScaling::yarn ? 0.1 * std::log(m_.rope_factor) + 1 : 1;
    return magnitude * (x_BnTH * angles.cos() + at::cat({-halves[1], halves[0]}, 3) * angles.sin());
  }
  // Queries, keys or values by head.
  at::Tensor heads(const at::Tensor& x, const std::string& name, std::int64_t n) const {
    const at::Tensor y = project(x, name);
    return by_head(m_.architecture == config::Family::qwen2 ? y + w_.at(name + ".bias") : y, n);
  }
  at::Tensor turned(const at::Tensor& x_BnTH, const std::string& norm_name, std::int64_t layer) const {
    const bool normed = m_.architecture == config::Family::qwen3 || is_gemma();
    const at::Tensor x = normed ? norm(x_BnTH, norm_name) : x_BnTH;
    const config::LayerType type = m_.layer_type(layer);
    if (type == config::LayerType::no_rotation) return x;
    return rope(x, type == config::LayerType::window && m_.rope_local_theta > 0);
  }
  at::Tensor attention(const at::Tensor& x, std::int64_t layer) const {
    const std::string at = fmt::format("model.layers.{}.self_attn.", layer);
    const std::int64_t group = m_.heads / m_.kv_heads, window = m_.layer_type(layer) == config::LayerType::window ? m_.sliding_window : 0;
    const at::Tensor q = turned(heads(x, at + "q_proj", m_.heads), at + "q_norm", layer);
    const at::Tensor k = turned(heads(x, at + "k_proj", m_.kv_heads), at + "k_norm", layer);
    const at::Tensor v = heads(x, at + "v_proj", m_.kv_heads);
    return project(attend(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), m_.attention_scale, window), at + "o_proj");
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
      x = x + conv(tanh_gelu(conv(norm(x, at + "ln_2"), at + "mlp.c_fc")), at + "mlp.c_proj");
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
