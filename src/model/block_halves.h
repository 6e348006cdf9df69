// The two halves of a block on a tp rank: y = x + attention(norm(x)) over some of the query heads and the key/value heads
// that they read, and y = x + feed_forward(norm(x)) over some of its columns. Each is a segment's three calls over its
// part of the block's buffer; each half's weights follow in the order of segment_layout.cc.
// Shapes: B sequences, T positions, M = B * T rows, m of them that this rank keeps, D width, H head width. Of this rank: n
// query heads, k key/value heads, A = n H, C = (n + 2 k) H the width of q, k, v side by side, F feed-forward.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "config/settings.h"
#include "kernels/attention.h"
#include "kernels/qk_norm_rope.h"
#include "kernels/rms_norm.h"
#include "model/block_segment.h"
#include "model/segment.h"
#include "model/segment_tools.h"

namespace troika::model {

// What forward keeps for backward_input, then what that leaves for backward_weight.
struct AttentionSaved {
  at::Tensor x_mD, normed_mD, qkv_MC, q_BTnH, k_BTkH;
  kernels::AttentionOutput output;
  kernels::RmsNormSaved norm;
  kernels::QkNormRopeSaved q_norm, k_norm;
  at::Tensor dy_MD, dqkv_MC, dnorm_D, dq_norm_H, dk_norm_H;
  std::int64_t bytes() const;
};

class AttentionHalf {
 public:
  AttentionHalf(const config::ModelSettings& model, const Positions& positions, const Groups& groups);
  std::int64_t elements() const;  // of the buffers below

  at::Tensor forward(const at::Tensor& parameters, const at::Tensor& x_mD, const Tokens& tokens, Keep keep,
                     AttentionSaved& saved) const;
  at::Tensor backward_input(const at::Tensor& parameters, const at::Tensor& dy_mD, const Tokens& tokens,
                            AttentionSaved& saved) const;
  void backward_weight(const at::Tensor& gradients, const Tokens& tokens, const AttentionSaved& saved) const;

 private:
  struct Weights {
    at::Tensor norm_D, qkv_CD, q_norm_H, k_norm_H, o_DA;
  };
  Weights weights(const at::Tensor& flat) const;
  at::Tensor heads(const at::Tensor& qkv_MC, const Tokens& tokens, std::int64_t first, std::int64_t count) const;
  sharding::LocalAttention input(const Tokens& tokens, const AttentionSaved& s) const;
  void rotate(const Weights& w, const Tokens& tokens, AttentionSaved& s) const;
  void attend_backward(const Weights& w, const at::Tensor& dout_MA, const Tokens& tokens, AttentionSaved& s) const;

  const Groups groups_;
  const Positions positions_;
  const LocalWidths widths_;
  const std::int64_t D, H, n, k;
  const double eps_;
  std::vector<std::int64_t> kv_of_head_;
};

struct FeedForwardSaved {
  at::Tensor x_mD, normed_mD, gate_up_M2F, hidden_MF;
  kernels::RmsNormSaved norm;
  at::Tensor dy_MD, dgate_up_M2F, dnorm_D;
  std::int64_t bytes() const;
};

class FeedForwardHalf {
 public:
  FeedForwardHalf(const config::ModelSettings& model, const Groups& groups);

  at::Tensor forward(const at::Tensor& parameters, const at::Tensor& x_mD, const Tokens& tokens, Keep keep,
                     FeedForwardSaved& saved) const;
  at::Tensor backward_input(const at::Tensor& parameters, const at::Tensor& dy_mD, const Tokens& tokens,
                            FeedForwardSaved& saved) const;
  void backward_weight(const at::Tensor& gradients, const Tokens& tokens, const FeedForwardSaved& saved) const;

 private:
  struct Weights {
    at::Tensor norm_D, gate_up_2FD, down_DF;
  };
  Weights weights(const at::Tensor& flat) const;

  const Groups groups_;
  const std::int64_t D, F;
  const double eps_;
};

}  // namespace troika::model
