#include "kernels/rows.h"
#include "model/block_halves.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

std::int64_t FeedForwardSaved::bytes() const {
  return norm.bytes() + post.bytes() + up_adapter.bytes() + down_adapter.bytes() +
         bytes_of({&x_mD, &normed_mD, &up_MU, &hidden_MF, &dy_MD, &dup_MU, &dnorm_E});
}

std::int64_t AdditionSaved::bytes() const { return norm.bytes() + bytes_of({&y_mD, &dnorm_E}); }

Addition::Addition(const config::ModelSettings& model, const shape::BlockKind& kind)
    : norm_(kind.norms == shape::BlockKind::Norms::around ? make_norm(model) : nullptr), scale_(model.residual_scale) {}

tensor::Tensor Addition::forward(const tensor::Tensor& w_E, const tensor::Tensor& y_mD, AdditionSaved* saved) const {
  if (is_output()) return y_mD;
  tensor::Tensor sum_mD = y_mD;
  if (norm_) {
    sum_mD = norm_->forward(w_E, y_mD, saved == nullptr ? nullptr : &saved->norm);
    if (saved != nullptr) saved->y_mD = y_mD;
  }
  if (scale_ != 1) tensor::multiply(sum_mD, scale_);
  return sum_mD;
}

tensor::Tensor Addition::backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_mD, AdditionSaved& saved) const {
  if (is_output()) return dy_mD;
  tensor::Tensor d_mD = dy_mD;
  if (scale_ != 1) {
    d_mD = tensor::empty_like(dy_mD);
    d_mD.copy_from(dy_mD);
    tensor::multiply(d_mD, scale_);
  }
  if (!norm_) return d_mD;
  saved.dnorm_E = gradient_like(w_E);
  d_mD = norm_->backward(w_E, d_mD, saved.y_mD, saved.norm, saved.dnorm_E);
  drop(saved.y_mD);
  saved.norm = {};
  return d_mD;
}

static std::int64_t own_columns(const config::ModelSettings& model, const Groups& groups) {
  return shape::local_widths(model, groups.share()).ffn.count;
}

FeedForwardHalf::FeedForwardHalf(const config::ModelSettings& model, const Groups& groups,
                                 const shape::Trained& trained, int segment)
    : groups_(groups),
      activation_(activation_of(shape::block_kind(model, segment))),
      norm_(make_norm(model)),
      post_(model, shape::block_kind(model, segment)),
      trained_(trained.own(segment)),
      up_({shape::architecture_of(model), ProjectionKind::other, model.hidden,
           activation_.inputs_per_output * own_columns(model, groups)},
          {model, trained, shape::FusedProjection::feed_forward_input, segment, groups}, trained_),
      down_({shape::architecture_of(model), ProjectionKind::other, own_columns(model, groups), model.hidden},
            {model, trained, shape::FusedProjection::feed_forward_output, segment, groups}, trained_) {
  Places own, adapter;
  places_.norm = own.take(norm_->elements());
  places_.up = own.take(up_.elements());
  places_.down = own.take(down_.elements());
  places_.post = own.take(post_.elements());
  places_.up_adapter = adapter.take(up_.adapter_elements());
  places_.down_adapter = adapter.take(down_.adapter_elements());
}

FeedForwardHalf::Weights FeedForwardHalf::weights(const HalfBuffer& buffer) const {
  return {view(buffer.own, places_.norm),
          view(buffer.own, places_.post),
          {view(buffer.own, places_.up), view(buffer.adapter, places_.up_adapter)},
          {view(buffer.own, places_.down), view(buffer.adapter, places_.down_adapter)}};
}

// The residual's sum: on a device within the product, where nothing comes between them.
tensor::Tensor FeedForwardHalf::add_to(const tensor::Tensor& x_mD, const Weights& w, const Tokens& tokens,
                                       FeedForwardSaved& s) const {
  if (groups_.tensor->size() == 1 && down_.is_one_product() && post_.is_output()) return down_.multiply_and_add(w.down, s.hidden_MF, x_mD);
  tensor::Tensor y_mD = groups_.tensor->reduce_scatter(down_.multiply(w.down, s.hidden_MF, tokens, s.down_adapter));
  down_.add_bias(w.down, y_mD);
  y_mD = post_.forward(w.post_E, y_mD, &s.post);
  tensor::add(y_mD, x_mD);
  return y_mD;
}

tensor::Tensor FeedForwardHalf::forward(const HalfBuffer& parameters, const StreamSum& x, const Tokens& tokens,
                                        shape::SavedActivations activations, FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.x_mD = x.x_mD;
  s.normed_mD = norm_->forward(w.norm_E, x.x_mD, &s.norm, x.plus_mD);
  s.up_MU = up_.forward(w.up, groups_.tensor->all_gather(s.normed_mD, tokens.M), tokens, s.up_adapter);
  if (activations != shape::SavedActivations::all || !up_.has_gradient()) drop(s.normed_mD);
  s.hidden_MF = activation_.forward(s.up_MU);
  if (activations == shape::SavedActivations::none) drop(s.up_MU);
  tensor::Tensor y_mD = add_to(x.x_mD, w, tokens, s);
  if (activations != shape::SavedActivations::all || !down_.has_gradient()) drop(s.hidden_MF);
  return y_mD;
}

tensor::Tensor FeedForwardHalf::backward_input(const HalfBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                               FeedForwardSaved& s) const {
  const Weights w = weights(parameters);
  s.dy_MD = groups_.tensor->all_gather(post_.backward(w.post_E, dy_mD, s.post), tokens.M);
  if (down_.has_gradient() && !s.hidden_MF.defined()) s.hidden_MF = activation_.forward(s.up_MU);
  if (up_.has_gradient() && !s.normed_mD.defined()) s.normed_mD = norm_->forward(w.norm_E, s.x_mD, nullptr);
  s.dup_MU = activation_.backward(down_.backward_input(w.down, s.dy_MD, tokens, s.down_adapter), s.up_MU);
  drop(s.up_MU);
  const tensor::Tensor dnormed_mD =
      groups_.tensor->reduce_scatter(up_.backward_input(w.up, s.dup_MU, tokens, s.up_adapter));
  tensor::Tensor dx_mD = backward_of_norm(*norm_, w.norm_E, dnormed_mD, dy_mD, s);
  drop_unread(s);
  return dx_mD;
}

void FeedForwardHalf::drop_unread(FeedForwardSaved& s) const {
  if (!trained_) drop(s.dnorm_E, s.post.dnorm_E);
  if (!up_.has_gradient()) drop(s.dup_MU);
  if (!down_.has_gradient()) drop(s.dy_MD);
}

void FeedForwardHalf::backward_weight(const HalfLeaves& leaves, const Tokens& tokens, const FeedForwardSaved& s) const {
  const std::int64_t M = tokens.M;
  if (down_.has_gradient()) {
    down_.backward_weight({leaves.own.part(places_.down), leaves.adapter.part(places_.down_adapter)}, s.dy_MD,
                          s.hidden_MF, tokens, s.down_adapter);
  }
  if (up_.has_gradient()) {
    up_.backward_weight({leaves.own.part(places_.up), leaves.adapter.part(places_.up_adapter)}, s.dup_MU,
                        groups_.tensor->all_gather(s.normed_mD, M), tokens, s.up_adapter);
  }
  if (!trained_) return;
  leaves.own.part(places_.norm).write(s.dnorm_E);
  if (places_.post.count > 0) leaves.own.part(places_.post).write(s.post.dnorm_E);
}

BlockHalves::BlockHalves(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
                         const shape::Trained& trained, int segment)
    : feed_forward(model, groups, trained, segment) {
  if (shape::block_kind(model, segment).attends()) attention.emplace(model, positions, groups, trained, segment);
  Places own, adapter;
  own_of_attention = own.take(attention ? attention->elements() : 0);
  own_of_feed_forward = own.take(feed_forward.elements());
  adapters_of_attention = adapter.take(attention ? attention->adapter_elements() : 0);
  adapters_of_feed_forward = adapter.take(feed_forward.adapter_elements());
}

Activation activation_of(const shape::BlockKind& kind) {
  if (kind.feed_forward == shape::BlockKind::FeedForward::geglu)
    return {kind.activation_inputs(), kernels::geglu_forward, kernels::geglu_backward};
  if (kind.feed_forward == shape::BlockKind::FeedForward::swiglu)
    return {kind.activation_inputs(), kernels::swiglu_forward, kernels::swiglu_backward};
  return {kind.activation_inputs(), kernels::gelu_forward, kernels::gelu_backward};
}

}  // namespace troika::model
