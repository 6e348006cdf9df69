// The two halves of a block on a tp rank: attention(norm(x)) over some of the query heads and the key/value heads that
// they read, and x + feed_forward(norm(x)) over some of its columns, where x is the sum of what went into the attention
// and what came out. What a half adds to the stream may be normed and scaled (Addition). Each is a segment's three calls over its part of the block's buffer; each half's weights follow in
// the order in which the architecture's split lays them out. Shapes: M rows, m of them
// that this rank keeps, D width, H head width, E and W the elements of a norm and of a projection. Of this rank: n query
// heads, k key/value heads, C = (n + 2 k) H the width of q, k, v side by side, F feed-forward, U the inputs of its
// activation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/settings/settings.h"
#include "kernels/attention.h"
#include "model/key_value_cache.h"
#include "model/positions.h"
#include "model/projection.h"
#include "model/segment.h"
#include "model/segments.h"
#include "shape/layout.h"
#include "tensor/tensor.h"

namespace troika::model {

// The activation between the two projections of a feed-forward: SwiGLU, which reads two inputs for an output, or GELU.
// Shapes: M rows, F outputs, U = inputs_per_output * F inputs.
struct Activation {
  std::int64_t inputs_per_output;
  tensor::Tensor (*forward)(const tensor::Tensor& x_MU);                                // y_MF
  tensor::Tensor (*backward)(const tensor::Tensor& dy_MF, const tensor::Tensor& x_MU);  // dx_MU
};

Activation activation_of(const shape::BlockKind& kind);

// The tensors that an addition's forward keeps, and the norm's gradient that its backward leaves.
struct AdditionSaved {
  tensor::Tensor y_mD, dnorm_E;
  NormSaved norm;
  std::int64_t bytes() const;
};

// What becomes of a half's output before it is added to the stream: the norm behind the half, where its kind has one, and
// model.residual_scale. Else the output itself.
class Addition {
 public:
  Addition(const config::ModelSettings& model, const shape::BlockKind& kind);
  std::int64_t elements() const { return norm_ ? norm_->elements() : 0; }
  bool is_output() const { return !norm_ && scale_ == 1; }

  // y_mD may be overwritten. Fills `saved` where it is not null.
  tensor::Tensor forward(const tensor::Tensor& w_E, const tensor::Tensor& y_mD, AdditionSaved* saved) const;
  // The gradient of y_mD; leaves dnorm_E alone in `saved`.
  tensor::Tensor backward(const tensor::Tensor& w_E, const tensor::Tensor& dy_mD, AdditionSaved& saved) const;

 private:
  const std::unique_ptr<const Norm> norm_;
  const double scale_;
};

// A half's parts of a block's buffers (SegmentBuffer), and of their gradients.
using HalfBuffer = ProjectionBuffer;
using HalfLeaves = ProjectionLeaves;

// The tensors forward keeps for backward_input, then those it leaves for backward_weight, of projections that are trained or
// have adapters. Without rotation q and k are where their projection left them.
struct AttentionSaved {
  tensor::Tensor x_mD, normed_mD, qkv_MC;
  QueriesAndKeys rotated;
  kernels::AttentionOutput output;
  NormSaved norm;
  AdditionSaved post;
  RotationSaved rotation;
  LowRankSaved qkv_adapter, o_adapter;
  tensor::Tensor dy_MD, dqkv_MC, dnorm_E, drotation_W;
  std::int64_t bytes() const;
};

// The end of a half's backward_input, behind which its norm leaves dnorm_E alone: returns dx_mD + dy_mD.
template <class HalfSaved>
tensor::Tensor backward_of_norm(const Norm& norm, const tensor::Tensor& w_E, const tensor::Tensor& dnormed_mD,
                                const tensor::Tensor& dy_mD, HalfSaved& s) {
  s.dnorm_E = gradient_like(w_E);
  tensor::Tensor dx_mD = norm.backward(w_E, dnormed_mD, s.x_mD, s.norm, s.dnorm_E, dy_mD);
  drop(s.x_mD);
  s.norm = {};
  return dx_mD;
}

class AttentionHalf {
 public:
  AttentionHalf(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
                const shape::Trained& trained, int segment);
  std::int64_t elements() const { return places_.post.end(); }  // of the buffers below
  std::int64_t adapter_elements() const { return places_.o_adapter.end(); }

  tensor::Tensor forward(const HalfBuffer& parameters, const tensor::Tensor& x_mD, const Tokens& tokens,
                         shape::SavedActivations activations, AttentionSaved& saved) const;
  tensor::Tensor backward_input(const HalfBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                AttentionSaved& saved) const;
  void backward_weight(const HalfLeaves& leaves, const Tokens& tokens, const AttentionSaved& saved) const;

  // forward for new rows x_MD of sequences whose earlier keys and values lie in caches, alone in its groups and without
  // adapters; writes the new ones of `block` (0 is the first) beside them.
  tensor::Tensor extend(const tensor::Tensor& parameters, const tensor::Tensor& x_MD, const NewRows& rows,
                        std::int64_t block) const;

 private:
  struct Weights {
    tensor::Tensor norm_E, rotation_W, post_E;
    ProjectionBuffer qkv, o;
  };
  struct WeightPlaces {
    shape::Range norm, qkv, rotation, o, post, qkv_adapter, o_adapter;
  };
  Weights weights(const HalfBuffer& buffer) const;
  void drop_unread(AttentionSaved& s) const;  // by backward_weight
  tensor::Tensor heads(const tensor::Tensor& qkv_MC, std::int64_t first, std::int64_t count) const;
  QueriesAndKeys queries_and_keys(const tensor::Tensor& qkv_MC) const;
  sharding::LocalAttention input(const AttentionSaved& s) const;
  void rotate(const Weights& w, const Tokens& tokens, AttentionSaved& s) const;
  tensor::Tensor attend(const tensor::Tensor& q_MnH, const NewRows& rows, std::int64_t block) const;
  void attend_backward(const Weights& w, const tensor::Tensor& dout_MA, const Tokens& tokens, AttentionSaved& s) const;

  const Groups groups_;
  const shape::LocalWidths widths_;
  const std::int64_t H, n, k;
  const std::unique_ptr<const Norm> norm_;
  const Addition post_;
  const bool trained_;
  const AdaptedProjection qkv_, o_;
  std::optional<const Rotation> rotation_;
  shape::BlockKind::Table table_;
  kernels::ScoreRule rule_;
  WeightPlaces places_;  // of this half's parts
  const Positions positions_;
  std::vector<std::int64_t> kv_of_head_;
};

// The residual stream: x, which becomes x + plus where plus is defined.
struct StreamSum {
  tensor::Tensor x_mD, plus_mD;
};

struct FeedForwardSaved {
  tensor::Tensor x_mD, normed_mD, up_MU, hidden_MF;
  NormSaved norm;
  AdditionSaved post;
  LowRankSaved up_adapter, down_adapter;
  tensor::Tensor dy_MD, dup_MU, dnorm_E;
  std::int64_t bytes() const;
};

class FeedForwardHalf {
 public:
  FeedForwardHalf(const config::ModelSettings& model, const Groups& groups, const shape::Trained& trained, int segment);
  std::int64_t elements() const { return places_.post.end(); }  // of the buffers below
  std::int64_t adapter_elements() const { return places_.down_adapter.end(); }

  tensor::Tensor forward(const HalfBuffer& parameters, const StreamSum& x, const Tokens& tokens,
                         shape::SavedActivations activations, FeedForwardSaved& saved) const;
  tensor::Tensor backward_input(const HalfBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                FeedForwardSaved& saved) const;
  void backward_weight(const HalfLeaves& leaves, const Tokens& tokens, const FeedForwardSaved& saved) const;

 private:
  struct Weights {
    tensor::Tensor norm_E, post_E;
    ProjectionBuffer up, down;
  };
  struct WeightPlaces {
    shape::Range norm, up, down, post, up_adapter, down_adapter;
  };
  Weights weights(const HalfBuffer& buffer) const;
  tensor::Tensor add_to(const tensor::Tensor& x_mD, const Weights& w, const Tokens& tokens, FeedForwardSaved& s) const;
  void drop_unread(FeedForwardSaved& s) const;

  const Groups groups_;
  const Activation activation_;
  const std::unique_ptr<const Norm> norm_;
  const Addition post_;
  const bool trained_;
  const AdaptedProjection up_, down_;
  WeightPlaces places_;  // of this half's parts
};

// The halves of one block, and where the weights of each lie in its buffers: the attention's first.
struct BlockHalves {
  BlockHalves(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
              const shape::Trained& trained, int segment);

  std::optional<const AttentionHalf> attention;
  const FeedForwardHalf feed_forward;
  shape::Range own_of_attention, own_of_feed_forward, adapters_of_attention, adapters_of_feed_forward;
};

}  // namespace troika::model
