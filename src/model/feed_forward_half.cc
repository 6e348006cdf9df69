#include <ATen/ATen.h>

#include "kernels/linear.h"
#include "kernels/swiglu.h"
#include "model/block_halves.h"

namespace troika::model {

std::int64_t FeedForwardSaved::bytes() const {
  return norm.bytes() + bytes_of({&x_mD, &normed_mD, &gate_up_M2F, &hidden_MF, &dy_MD, &dgate_up_M2F, &dnorm_D});
}

FeedForwardHalf::FeedForwardHalf(const config::ModelSettings& model, const Groups& groups)
    : groups_(groups), D(model.hidden), F(local_widths(model, groups.share()).ffn.count), eps_(model.norm_eps) {}

FeedForwardHalf::Weights FeedForwardHalf::weights(const at::Tensor& flat) const {
  Views views(flat);
  Weights w;
  w.norm_D = views.take({D});
  w.gate_up_2FD = views.take({2 * F, D});
  w.down_DF = views.take({D, F});
  return w;
}

at::Tensor FeedForwardHalf::forward(const at::Tensor& parameters, const at::Tensor& x_mD, const Tokens& tokens,
                                    Keep keep, FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.x_mD = x_mD;
  s.normed_mD = kernels::rms_norm_forward(x_mD, w.norm_D, eps_, &s.norm);
  s.gate_up_M2F = kernels::linear_forward(groups_.tensor->spread(s.normed_mD, tokens.B * tokens.T), w.gate_up_2FD);
  if (keep != Keep::for_backward) drop(s.normed_mD);
  s.hidden_MF = kernels::swiglu_forward(s.gate_up_M2F);
  if (keep == Keep::nothing) drop(s.gate_up_M2F);
  at::Tensor y_mD = groups_.tensor->collect(kernels::linear_forward(s.hidden_MF, w.down_DF)).add_(x_mD);
  if (keep != Keep::for_backward) drop(s.hidden_MF);
  return y_mD;
}

at::Tensor FeedForwardHalf::backward_input(const at::Tensor& parameters, const at::Tensor& dy_mD, const Tokens& tokens,
                                           FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.dy_MD = groups_.tensor->spread(dy_mD, tokens.B * tokens.T);
  if (!s.hidden_MF.defined()) s.hidden_MF = kernels::swiglu_forward(s.gate_up_M2F);
  if (!s.normed_mD.defined()) s.normed_mD = kernels::rms_norm_forward(s.x_mD, w.norm_D, eps_, nullptr);
  s.dgate_up_M2F = kernels::swiglu_backward(kernels::linear_backward_input(s.dy_MD, w.down_DF), s.gate_up_M2F);
  drop(s.gate_up_M2F);
  const at::Tensor dnormed_mD = groups_.tensor->collect(kernels::linear_backward_input(s.dgate_up_M2F, w.gate_up_2FD));
  s.dnorm_D = gradient_like(w.norm_D);
  at::Tensor dx_mD = kernels::rms_norm_backward(dnormed_mD, s.x_mD, w.norm_D, s.norm, s.dnorm_D, dy_mD);
  drop(s.x_mD, s.norm.rstd_M);
  return dx_mD;
}

void FeedForwardHalf::backward_weight(const at::Tensor& gradients, const Tokens& tokens,
                                      const FeedForwardSaved& s) const {
  const Weights g = weights(gradients);
  kernels::linear_backward_weight(s.dy_MD, s.hidden_MF, g.down_DF);
  kernels::linear_backward_weight(s.dgate_up_M2F, groups_.tensor->spread(s.normed_mD, tokens.B * tokens.T),
                                  g.gate_up_2FD);
  g.norm_D.copy_(s.dnorm_D);
}

}  // namespace troika::model
