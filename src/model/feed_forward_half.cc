#include <ATen/ATen.h>

#include "model/block_halves.h"

namespace troika::model {

std::int64_t FeedForwardSaved::bytes() const {
  return norm.bytes() + bytes_of({&x_mD, &normed_mD, &up_MU, &hidden_MF, &dy_MD, &dup_MU, &dnorm_E});
}

static std::int64_t own_columns(const config::ModelSettings& model, const Groups& groups) {
  return local_widths(model, groups.share()).ffn.count;
}

FeedForwardHalf::FeedForwardHalf(const config::ModelSettings& model, const Groups& groups)
    : groups_(groups),
      activation_(activation_of(architecture_of(model))),
      norm_(make_norm(model)),
      up_(architecture_of(model), Product::other, model.hidden,
          activation_.inputs_per_output * own_columns(model, groups)),
      down_(architecture_of(model), Product::other, own_columns(model, groups), model.hidden) {}

FeedForwardHalf::Weights FeedForwardHalf::weights(const at::Tensor& flat) const {
  Views views(flat);
  Weights w;
  w.norm_E = views.take({norm_->elements()});
  w.up_W = views.take({up_.elements()});
  w.down_W = views.take({down_.elements()});
  return w;
}

at::Tensor FeedForwardHalf::forward(const at::Tensor& parameters, const at::Tensor& x_mD, const Tokens& tokens,
                                    Keep keep, FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.x_mD = x_mD;
  s.normed_mD = norm_->forward(w.norm_E, x_mD, &s.norm);
  s.up_MU = up_.forward(w.up_W, groups_.tensor->spread(s.normed_mD, tokens.B * tokens.T));
  if (keep != Keep::for_backward) drop(s.normed_mD);
  s.hidden_MF = activation_.forward(s.up_MU);
  if (keep == Keep::nothing) drop(s.up_MU);
  at::Tensor y_mD = groups_.tensor->collect(down_.product(w.down_W, s.hidden_MF));
  if (keep != Keep::for_backward) drop(s.hidden_MF);
  down_.add_bias(w.down_W, y_mD);
  return y_mD.add_(x_mD);
}

at::Tensor FeedForwardHalf::backward_input(const at::Tensor& parameters, const at::Tensor& dy_mD, const Tokens& tokens,
                                           FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.dy_MD = groups_.tensor->spread(dy_mD, tokens.B * tokens.T);
  if (!s.hidden_MF.defined()) s.hidden_MF = activation_.forward(s.up_MU);
  if (!s.normed_mD.defined()) s.normed_mD = norm_->forward(w.norm_E, s.x_mD, nullptr);
  s.dup_MU = activation_.backward(down_.backward_input(w.down_W, s.dy_MD), s.up_MU);
  drop(s.up_MU);
  const at::Tensor dnormed_mD = groups_.tensor->collect(up_.backward_input(w.up_W, s.dup_MU));
  s.dnorm_E = gradient_like(w.norm_E);
  at::Tensor dx_mD = norm_->backward(w.norm_E, dnormed_mD, s.x_mD, s.norm, s.dnorm_E, dy_mD);
  drop(s.x_mD);
  s.norm = {};
  return dx_mD;
}

void FeedForwardHalf::backward_weight(const at::Tensor& gradients, const Tokens& tokens,
                                      const FeedForwardSaved& s) const {
  const Weights g = weights(gradients);
  down_.backward_weight(g.down_W, s.dy_MD, s.hidden_MF);
  up_.backward_weight(g.up_W, s.dup_MU, groups_.tensor->spread(s.normed_mD, tokens.B * tokens.T));
  g.norm_E.copy_(s.dnorm_E);
}

}  // namespace troika::model
