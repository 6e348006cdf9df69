#include <algorithm>

#include "kernels/attention.h"
#include "model/block_halves.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

std::int64_t AttentionSaved::bytes() const {
  return norm.bytes() + post.bytes() + rotation.bytes() + qkv_adapter.bytes() + o_adapter.bytes() +
         bytes_of({&x_mD, &normed_mD, &qkv_MC, &rotated.q_BTnH, &rotated.k_BTkH, &output.out_BTnH, &output.lse_BnT,
                   &dy_MD, &dqkv_MC, &dnorm_E, &drotation_W});
}

AttentionHalf::AttentionHalf(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
                             const shape::Trained& trained, int segment)
    : groups_(groups),
      widths_(shape::local_widths(model, groups.share())),
      H(model.head_dim),
      n(widths_.heads.count),
      k(widths_.kv_heads.count),
      norm_(make_norm(model)),
      post_(model, shape::block_kind(model, segment)),
      trained_(trained.own(segment)),
      qkv_({shape::architecture_of(model), ProjectionKind::queries_keys_values, model.hidden, (n + 2 * k) * H},
           {model, trained, shape::FusedProjection::queries_keys_values, segment, groups}, trained_),
      o_({shape::architecture_of(model), ProjectionKind::other, n * H, model.hidden},
         {model, trained, shape::FusedProjection::attention_output, segment, groups}, trained_),
      positions_(positions) {
  const shape::BlockKind kind = shape::block_kind(model, segment);
  if (kind.rotates()) rotation_.emplace(model, kind);
  table_ = kind.table;
  rule_ = {model.attention_scale, shape::window_of(model, kind)};
  Places own, adapter;
  places_.norm = own.take(norm_->elements());
  places_.qkv = own.take(qkv_.elements());
  places_.rotation = own.take(rotation_ ? rotation_->elements() : 0);
  places_.o = own.take(o_.elements());
  places_.post = own.take(post_.elements());
  places_.qkv_adapter = adapter.take(qkv_.adapter_elements());
  places_.o_adapter = adapter.take(o_.adapter_elements());
  kv_of_head_ = shape::kv_of_head(model, widths_);
}

AttentionHalf::Weights AttentionHalf::weights(const HalfBuffer& buffer) const {
  Weights w;
  w.norm_E = view(buffer.own, places_.norm);
  w.qkv = {view(buffer.own, places_.qkv), view(buffer.adapter, places_.qkv_adapter)};
  if (rotation_) w.rotation_W = view(buffer.own, places_.rotation);
  w.o = {view(buffer.own, places_.o), view(buffer.adapter, places_.o_adapter)};
  w.post_E = view(buffer.own, places_.post);
  return w;
}

// The heads [first, first + count) of q, k, v side by side, as a strided view.
tensor::Tensor AttentionHalf::heads(const tensor::Tensor& qkv_MC, std::int64_t first, std::int64_t count) const {
  return qkv_MC.view({1, qkv_MC.size(0), n + 2 * k, H}).narrow(2, first, count);
}

QueriesAndKeys AttentionHalf::queries_and_keys(const tensor::Tensor& qkv_MC) const {
  return {heads(qkv_MC, 0, n), heads(qkv_MC, n, k)};
}

sharding::LocalAttention AttentionHalf::input(const AttentionSaved& s) const {
  const QueriesAndKeys both = rotation_ ? s.rotated : queries_and_keys(s.qkv_MC);
  return {both.q_BTnH, both.k_BTkH, heads(s.qkv_MC, n + k, k), kv_of_head_, rule_};
}

void AttentionHalf::rotate(const Weights& w, const Tokens& tokens, AttentionSaved& s) const {
  if (rotation_)
    s.rotated =
        rotation_->forward(w.rotation_W, queries_and_keys(s.qkv_MC), rope_of(positions_, tokens, table_), s.rotation);
}

tensor::Tensor AttentionHalf::forward(const HalfBuffer& parameters, const tensor::Tensor& x_mD, const Tokens& tokens,
                                      shape::SavedActivations activations, AttentionSaved& s) const {
  const Weights w = weights(parameters);
  const std::int64_t M = tokens.M;
  s.x_mD = x_mD;
  s.normed_mD = norm_->forward(w.norm_E, x_mD, &s.norm);
  s.qkv_MC = qkv_.forward(w.qkv, groups_.tensor->all_gather(s.normed_mD, M), tokens, s.qkv_adapter);
  if (activations != shape::SavedActivations::all || !qkv_.has_gradient()) drop(s.normed_mD);
  rotate(w, tokens, s);
  s.output = groups_.context->attend(input(s), tokens.sequences);
  if (activations != shape::SavedActivations::all) s.rotated = {};
  if (activations == shape::SavedActivations::none) drop(s.qkv_MC);
  const tensor::Tensor out_MA = s.output.out_BTnH.view({M, n * H});
  tensor::Tensor y_mD = groups_.tensor->reduce_scatter(o_.multiply(w.o, out_MA, tokens, s.o_adapter));
  o_.add_bias(w.o, y_mD);
  return post_.forward(w.post_E, y_mD, &s.post);
}

tensor::Tensor AttentionHalf::backward_input(const HalfBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                             AttentionSaved& s) const {
  const Weights w = weights(parameters);
  s.dy_MD = groups_.tensor->all_gather(post_.backward(w.post_E, dy_mD, s.post), tokens.M);
  if (qkv_.has_gradient() && !s.normed_mD.defined()) s.normed_mD = norm_->forward(w.norm_E, s.x_mD, nullptr);
  attend_backward(w, o_.backward_input(w.o, s.dy_MD, tokens, s.o_adapter), tokens, s);
  const tensor::Tensor dnormed_mD =
      groups_.tensor->reduce_scatter(qkv_.backward_input(w.qkv, s.dqkv_MC, tokens, s.qkv_adapter));
  tensor::Tensor dx_mD = backward_of_norm(*norm_, w.norm_E, dnormed_mD, dy_mD, s);
  drop_unread(s);
  return dx_mD;
}

void AttentionHalf::drop_unread(AttentionSaved& s) const {
  if (!trained_) drop(s.dnorm_E, s.drotation_W, s.post.dnorm_E);
  if (!qkv_.has_gradient()) drop(s.dqkv_MC);
  if (!o_.has_gradient()) drop(s.dy_MD, s.output.out_BTnH);
}

void AttentionHalf::attend_backward(const Weights& w, const tensor::Tensor& dout_MA, const Tokens& tokens,
                                    AttentionSaved& s) const {
  if (!s.rotated.q_BTnH.defined()) rotate(w, tokens, s);
  const auto d = groups_.context->attend_backward(dout_MA.view({1, tokens.M, n, H}), input(s), s.output, tokens.sequences);
  s.dqkv_MC = tensor::empty_like(s.qkv_MC);
  const QueriesAndKeys dx = queries_and_keys(s.dqkv_MC);
  if (rotation_) {
    s.drotation_W = gradient_like(w.rotation_W);
    rotation_->backward(w.rotation_W, {d.dq_BTnH, d.dk_BSkH}, queries_and_keys(s.qkv_MC),
                        rope_of(positions_, tokens, table_), s.rotation, dx, s.drotation_W);
  } else {
    dx.q_BTnH.copy_from(d.dq_BTnH);
    dx.k_BTkH.copy_from(d.dk_BSkH);
  }
  heads(s.dqkv_MC, n + k, k).copy_from(d.dv_BSkH);
  drop(s.qkv_MC, s.output.lse_BnT);
  s.rotated = {};
  s.rotation = {};
}

void AttentionHalf::backward_weight(const HalfLeaves& leaves, const Tokens& tokens, const AttentionSaved& s) const {
  const std::int64_t M = tokens.M;
  if (o_.has_gradient()) {
    o_.backward_weight({leaves.own.part(places_.o), leaves.adapter.part(places_.o_adapter)}, s.dy_MD,
                       s.output.out_BTnH.view({M, n * H}), tokens, s.o_adapter);
  }
  if (qkv_.has_gradient()) {
    qkv_.backward_weight({leaves.own.part(places_.qkv), leaves.adapter.part(places_.qkv_adapter)}, s.dqkv_MC,
                         groups_.tensor->all_gather(s.normed_mD, M), tokens, s.qkv_adapter);
  }
  if (!trained_) return;
  leaves.own.part(places_.norm).write(s.dnorm_E);
  if (places_.post.count > 0) leaves.own.part(places_.post).write(s.post.dnorm_E);
  if (places_.rotation.count > 0) leaves.own.part(places_.rotation).write(s.drotation_W);
}

// Returns the rows' attention, [M, n, H], in the dtype of the caches.
tensor::Tensor AttentionHalf::attend(const tensor::Tensor& q_MnH, const NewRows& rows, std::int64_t block) const {
  const bool single =
      std::all_of(rows.parts.begin(), rows.parts.end(), [](const NewRows::Part& part) { return part.count == 1; });
  std::vector<kernels::KeysAndValues> sequences;
  std::vector<tensor::Tensor> out_TnH;
  for (const NewRows::Part& part : rows.parts) {
    const std::int64_t before = part.cache->length(), S = before + part.count, held = part.cache->first(block);
    const tensor::Tensor k_1SkH = part.cache->keys(block, S), v_1SkH = part.cache->values(block, S);
    if (single) {
      sequences.push_back({k_1SkH[0], v_1SkH[0]});
    } else {
      const tensor::Tensor q_1TnH = q_MnH.narrow(0, part.first, part.count).unsqueeze(0);
      out_TnH.push_back(kernels::attention_forward({q_1TnH, k_1SkH, v_1SkH, kv_of_head_, before, held, {}, rule_}).out_BTnH[0]);
    }
  }
  return single ? kernels::row_attention(q_MnH, sequences, rule_) : tensor::cat(out_TnH);
}

tensor::Tensor AttentionHalf::extend(const tensor::Tensor& parameters, const tensor::Tensor& x_MD, const NewRows& rows,
                                     std::int64_t block) const {
  const Weights w = weights({parameters, {}});
  LowRankSaved no_adapter;
  Tokens tokens;
  tokens.M = x_MD.size(0);
  const tensor::Tensor qkv_MC = qkv_.forward(w.qkv, norm_->forward(w.norm_E, x_MD, nullptr), tokens, no_adapter);
  QueriesAndKeys both = queries_and_keys(qkv_MC);
  RotationSaved unused;
  if (rotation_) both = rotation_->forward(w.rotation_W, both, rows.of(table_), unused);
  const tensor::Tensor v_1MkH = heads(qkv_MC, n + k, k);
  for (const NewRows::Part& part : rows.parts) {
    const auto of_part = [&](const tensor::Tensor& x_1MkH) { return x_1MkH[0].narrow(0, part.first, part.count); };
    part.cache->write(block, of_part(both.k_BTkH), of_part(v_1MkH));
  }
  const tensor::Tensor q_MnH = both.q_BTnH[0].to(rows.parts.front().cache->dtype());
  const tensor::Tensor out_MA = attend(q_MnH, rows, block).reshape({tokens.M, n * H}).to(x_MD.dtype());
  return post_.forward(w.post_E, o_.forward(w.o, out_MA, tokens, no_adapter), nullptr);
}

}  // namespace troika::model
