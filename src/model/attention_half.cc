#include <ATen/ATen.h>

#include "kernels/linear.h"
#include "model/block_halves.h"

namespace troika::model {

std::int64_t AttentionSaved::bytes() const {
  return norm.bytes() + q_norm.bytes() + k_norm.bytes() +
         bytes_of({&x_mD, &normed_mD, &qkv_MC, &q_BTnH, &k_BTkH, &output.out_BTnH, &output.lse_BnT, &dy_MD, &dqkv_MC,
                   &dnorm_D, &dq_norm_H, &dk_norm_H});
}

AttentionHalf::AttentionHalf(const config::ModelSettings& model, const Positions& positions, const Groups& groups)
    : groups_(groups),
      positions_(positions),
      widths_(local_widths(model, groups.share())),
      D(model.hidden),
      H(model.head_dim),
      n(widths_.heads.count),
      k(widths_.kv_heads.count),
      eps_(model.norm_eps) {
  const std::int64_t group = model.heads / model.kv_heads;
  for (std::int64_t head = widths_.heads.begin; head < widths_.heads.end(); ++head)
    kv_of_head_.push_back(head / group - widths_.kv_heads.begin);
}

std::int64_t AttentionHalf::elements() const { return D + (n + 2 * k) * H * D + 2 * H + D * n * H; }

AttentionHalf::Weights AttentionHalf::weights(const at::Tensor& flat) const {
  Views views(flat);
  Weights w;
  w.norm_D = views.take({D});
  w.qkv_CD = views.take({(n + 2 * k) * H, D});
  w.q_norm_H = views.take({H});
  w.k_norm_H = views.take({H});
  w.o_DA = views.take({D, n * H});
  return w;
}

// The heads [first, first + count) of q, k, v side by side, as a strided view.
at::Tensor AttentionHalf::heads(const at::Tensor& qkv_MC, const Tokens& tokens, std::int64_t first,
                                std::int64_t count) const {
  return qkv_MC.view({tokens.B, tokens.T, n + 2 * k, H}).narrow(2, first, count);
}

sharding::LocalAttention AttentionHalf::input(const Tokens& tokens, const AttentionSaved& s) const {
  return {s.q_BTnH, s.k_BTkH, heads(s.qkv_MC, tokens, n + k, k), kv_of_head_};
}

void AttentionHalf::rotate(const Weights& w, const Tokens& tokens, AttentionSaved& s) const {
  const auto& rope = positions_.rope;
  s.q_BTnH = kernels::qk_norm_rope_forward(heads(s.qkv_MC, tokens, 0, n), w.q_norm_H, eps_, rope, &s.q_norm);
  s.k_BTkH = kernels::qk_norm_rope_forward(heads(s.qkv_MC, tokens, n, k), w.k_norm_H, eps_, rope, &s.k_norm);
}

at::Tensor AttentionHalf::forward(const at::Tensor& parameters, const at::Tensor& x_mD, const Tokens& tokens, Keep keep,
                                  AttentionSaved& s) const {
  const Weights w = weights(parameters);
  const std::int64_t M = tokens.B * tokens.T;
  s.x_mD = x_mD;
  s.normed_mD = kernels::rms_norm_forward(x_mD, w.norm_D, eps_, &s.norm);
  s.qkv_MC = kernels::linear_forward(groups_.tensor->spread(s.normed_mD, M), w.qkv_CD);
  if (keep != Keep::for_backward) drop(s.normed_mD);
  rotate(w, tokens, s);
  s.output = groups_.context->attend(input(tokens, s), tokens.T_whole);
  if (keep != Keep::for_backward) drop(s.q_BTnH, s.k_BTkH);
  if (keep == Keep::nothing) drop(s.qkv_MC);
  const at::Tensor partial_MD = kernels::linear_forward(s.output.out_BTnH.view({M, n * H}), w.o_DA);
  return groups_.tensor->collect(partial_MD).add_(x_mD);
}

at::Tensor AttentionHalf::backward_input(const at::Tensor& parameters, const at::Tensor& dy_mD, const Tokens& tokens,
                                         AttentionSaved& s) const {
  const Weights w = weights(parameters);
  s.dy_MD = groups_.tensor->spread(dy_mD, tokens.B * tokens.T);
  if (!s.normed_mD.defined()) s.normed_mD = kernels::rms_norm_forward(s.x_mD, w.norm_D, eps_, nullptr);
  attend_backward(w, kernels::linear_backward_input(s.dy_MD, w.o_DA), tokens, s);
  const at::Tensor dnormed_mD = groups_.tensor->collect(kernels::linear_backward_input(s.dqkv_MC, w.qkv_CD));
  s.dnorm_D = gradient_like(w.norm_D);
  at::Tensor dx_mD = kernels::rms_norm_backward(dnormed_mD, s.x_mD, w.norm_D, s.norm, s.dnorm_D, dy_mD);
  drop(s.x_mD, s.norm.rstd_M);
  return dx_mD;
}

void AttentionHalf::attend_backward(const Weights& w, const at::Tensor& dout_MA, const Tokens& tokens,
                                    AttentionSaved& s) const {
  if (!s.q_BTnH.defined()) rotate(w, tokens, s);
  const auto d = groups_.context->attend_backward(dout_MA.view({tokens.B, tokens.T, n, H}), input(tokens, s), s.output,
                                                  tokens.T_whole);
  s.dq_norm_H = gradient_like(w.q_norm_H);
  s.dk_norm_H = gradient_like(w.k_norm_H);
  s.dqkv_MC = at::empty_like(s.qkv_MC);
  const auto rotate_back = [&](const at::Tensor& dy_BTnH, std::int64_t first, std::int64_t count,
                               const at::Tensor& norm_H, const kernels::QkNormRopeSaved& saved,
                               const at::Tensor& dw_H) {
    kernels::qk_norm_rope_backward(dy_BTnH, heads(s.qkv_MC, tokens, first, count), norm_H, positions_.rope, saved,
                                   heads(s.dqkv_MC, tokens, first, count), dw_H);
  };
  rotate_back(d.dq_BTnH, 0, n, w.q_norm_H, s.q_norm, s.dq_norm_H);
  rotate_back(d.dk_BSkH, n, k, w.k_norm_H, s.k_norm, s.dk_norm_H);
  heads(s.dqkv_MC, tokens, n + k, k).copy_(d.dv_BSkH);
  drop(s.qkv_MC, s.q_BTnH, s.k_BTkH, s.output.lse_BnT, s.q_norm.rstd_BTn, s.k_norm.rstd_BTn);
}

void AttentionHalf::backward_weight(const at::Tensor& gradients, const Tokens& tokens, const AttentionSaved& s) const {
  const Weights g = weights(gradients);
  const std::int64_t M = tokens.B * tokens.T;
  kernels::linear_backward_weight(s.dy_MD, s.output.out_BTnH.view({M, n * H}), g.o_DA);
  kernels::linear_backward_weight(s.dqkv_MC, groups_.tensor->spread(s.normed_mD, M), g.qkv_CD);
  g.norm_D.copy_(s.dnorm_D);
  g.q_norm_H.copy_(s.dq_norm_H);
  g.k_norm_H.copy_(s.dk_norm_H);
}

}  // namespace troika::model
