#include "model/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/exact_math.h"
#include "base/say.h"
#include "model/segments.h"
#include "tensor/operations.h"

namespace troika::model {

kernels::RopeFrequencies rope_frequencies(const config::ModelSettings& model, shape::BlockKind::Table table) {
  if (table == shape::BlockKind::Table::local) return {model.head_dim, model.rope_local_theta, {}};
  using Kind = kernels::RopeScaling::Kind;
  kernels::RopeScaling scaling;
  if (model.rope_scaling == config::RopeScaling::linear) scaling.kind = Kind::linear;
  if (model.rope_scaling == config::RopeScaling::llama3) scaling.kind = Kind::llama3;
  if (model.rope_scaling == config::RopeScaling::yarn) {
    scaling.kind = Kind::yarn;
    scaling.beta_fast = model.rope_beta_fast;
    scaling.beta_slow = model.rope_beta_slow;
    scaling.magnitude = model.rope_attention_factor > 0 ? model.rope_attention_factor : 0.1 * base::log(model.rope_factor) + 1;
  }
  scaling.factor = model.rope_factor;
  scaling.low_freq_factor = model.rope_low_freq_factor;
  scaling.high_freq_factor = model.rope_high_freq_factor;
  scaling.original_positions = static_cast<double>(model.rope_original_positions);
  return {model.head_dim, model.rope_theta, scaling};
}

Positions make_positions(const config::ModelSettings& model, std::int64_t seq_len, const tensor::Device& device) {
  Positions positions;
  positions.seq_len = seq_len;
  if (shape::architecture_of(model).positions == shape::Architecture::Positions::rotary) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(seq_len));
    std::iota(all.begin(), all.end(), 0);
    using Table = shape::BlockKind::Table;
    positions.rope = kernels::make_rope_table(all, rope_frequencies(model, Table::global), device);
    const std::vector<shape::BlockKind> kinds = shape::BlockKinds(model).kinds;
    const auto is_local = [](const shape::BlockKind& kind) { return kind.table == Table::local; };
    if (std::any_of(kinds.begin(), kinds.end(), is_local))
      positions.local = kernels::make_rope_table(all, rope_frequencies(model, Table::local), device);
  } else if (seq_len > model.max_positions) {
    throw base::ConfigError(base::say("a sequence of {} tokens exceeds the model's {} learned positions: at most {}",
                                        seq_len, model.max_positions, model.max_positions));
  }
  return positions;
}

kernels::RopeTable rope_of(const Positions& positions, const Tokens& tokens, shape::BlockKind::Table table) {
  const kernels::RopeTable& all = positions.of(table);
  return {all.cos_TI, all.sin_TI, tokens.position_M.view({1, tokens.M})};
}

void check_positions(const Positions& positions, const Tokens& tokens) {
  for (const shape::Sequence& sequence : tokens.sequences)
    if (sequence.length > positions.seq_len)
      throw base::BugError(fmt::format("a sequence of {} positions for segments made for {}", sequence.length, positions.seq_len));
}

Rotation::Rotation(const config::ModelSettings& model, const shape::BlockKind& kind)
    : H(model.head_dim), normed_(kind.norms_heads()), gain_(gain_of(shape::architecture_of(model))), eps_(model.norm_eps) {}

QueriesAndKeys Rotation::forward(const tensor::Tensor& w_W, const QueriesAndKeys& x, const kernels::RopeTable& rope,
                                 RotationSaved& saved) const {
  if (!normed_) return {kernels::rope_forward(x.q_BTnH, rope), kernels::rope_forward(x.k_BTkH, rope)};
  return {kernels::qk_norm_rope_forward(x.q_BTnH, of_q(w_W), eps_, rope, &saved.q, gain_),
          kernels::qk_norm_rope_forward(x.k_BTkH, of_k(w_W), eps_, rope, &saved.k, gain_)};
}

void Rotation::backward(const tensor::Tensor& w_W, const QueriesAndKeys& dy, const QueriesAndKeys& x,
                        const kernels::RopeTable& rope, const RotationSaved& saved, const QueriesAndKeys& dx,
                        const tensor::Tensor& dw_W) const {
  if (!normed_) {
    kernels::rope_backward(dy.q_BTnH, rope, dx.q_BTnH);
    kernels::rope_backward(dy.k_BTkH, rope, dx.k_BTkH);
    return;
  }
  kernels::qk_norm_rope_backward(dy.q_BTnH, x.q_BTnH, of_q(w_W), rope, saved.q, dx.q_BTnH, of_q(dw_W), gain_);
  kernels::qk_norm_rope_backward(dy.k_BTkH, x.k_BTkH, of_k(w_W), rope, saved.k, dx.k_BTkH, of_k(dw_W), gain_);
}

}  // namespace troika::model
