// Shapes: B sequences, T positions, M = B * T rows, D width, N query heads, K key/value heads, H head width,
// C = (N + 2 K) H the width of q, k, v side by side, F feed-forward.
#include "model/block_segment.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"

namespace troika::model {
namespace {

// Views of a block's parameters, or of their gradients, in buffer order (layout.cc).
struct BlockTensors {
  at::Tensor norm1_D, qkv_CD, q_norm_H, k_norm_H, o_DA, norm2_D, gate_up_2FD, down_DF;
};

struct BlockSaved final : Saved {
  at::Tensor x_MD, normed1_MD, qkv_MC, mid_MD, normed2_MD, gate_up_M2F, hidden_MF;
  kernels::AttentionInput attention_input;
  kernels::AttentionOutput attention_output;
  kernels::RmsNormSaved norm1, norm2;
  kernels::QkNormRopeSaved q_norm, k_norm;
  // What backward_input leaves for backward_weight.
  at::Tensor dqkv_MC, dmid_MD, dgate_up_M2F, dy_MD, dnorm1_D, dq_norm_H, dk_norm_H, dnorm2_D;

  std::int64_t bytes() const override {
    std::int64_t sum = norm1.bytes() + norm2.bytes() + q_norm.bytes() + k_norm.bytes();
    for (const auto* t :
         {&x_MD, &normed1_MD, &qkv_MC, &mid_MD, &normed2_MD, &gate_up_M2F, &hidden_MF, &attention_input.q_BTnH,
          &attention_input.k_BSkH, &attention_output.out_BTnH, &attention_output.lse_BnT, &dqkv_MC, &dmid_MD,
          &dgate_up_M2F, &dy_MD, &dnorm1_D, &dq_norm_H, &dk_norm_H, &dnorm2_D}) {
      sum += t->defined() ? static_cast<std::int64_t>(t->nbytes()) : 0;
    }
    return sum;
  }
};

class BlockSegment final : public Segment {
 public:
  BlockSegment(const config::ModelSettings& m, kernels::RopeTable rope)
      : D(m.hidden), N(m.heads), K(m.kv_heads), H(m.head_dim), F(m.ffn), eps_(m.norm_eps), rope_(std::move(rope)) {
    for (std::int64_t head = 0; head < N; ++head) kv_of_head_.push_back(head / (N / K));
  }

  ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor& x_MD, const Tokens& tokens,
                        Keep keep) const override {
    const BlockTensors p = views(parameters.flat);
    auto saved = std::make_unique<BlockSaved>();
    BlockSaved& s = *saved;
    s.x_MD = x_MD;
    s.normed1_MD = kernels::rms_norm_forward(x_MD, p.norm1_D, eps_, &s.norm1);
    s.qkv_MC = kernels::linear_forward(s.normed1_MD, p.qkv_CD);
    attend(p, tokens, s);
    s.mid_MD = kernels::linear_forward(s.attention_output.out_BTnH.view({-1, N * H}), p.o_DA).add_(x_MD);

    s.normed2_MD = kernels::rms_norm_forward(s.mid_MD, p.norm2_D, eps_, &s.norm2);
    s.gate_up_M2F = kernels::linear_forward(s.normed2_MD, p.gate_up_2FD);
    s.hidden_MF = kernels::swiglu_forward(s.gate_up_M2F);
    ForwardResult result;
    result.y_MD = kernels::linear_forward(s.hidden_MF, p.down_DF).add_(s.mid_MD);
    if (keep == Keep::for_backward) result.saved = std::move(saved);
    return result;
  }

  at::Tensor backward_input(const SegmentBuffer& parameters, const at::Tensor& dy_MD, const Tokens& tokens,
                            Saved& saved) const override {
    auto& s = static_cast<BlockSaved&>(saved);
    const BlockTensors p = views(parameters.flat);
    s.dy_MD = dy_MD;
    s.dgate_up_M2F = kernels::swiglu_backward(kernels::linear_backward_input(dy_MD, p.down_DF), s.gate_up_M2F);
    s.gate_up_M2F.reset();
    s.dnorm2_D = at::empty_like(p.norm2_D);
    const at::Tensor dnormed2_MD = kernels::linear_backward_input(s.dgate_up_M2F, p.gate_up_2FD);
    s.dmid_MD = kernels::rms_norm_backward(dnormed2_MD, s.mid_MD, p.norm2_D, s.norm2, s.dnorm2_D).add_(dy_MD);
    s.mid_MD.reset();

    attend_backward(p, kernels::linear_backward_input(s.dmid_MD, p.o_DA), tokens, s);
    s.dnorm1_D = at::empty_like(p.norm1_D);
    const at::Tensor dnormed1_MD = kernels::linear_backward_input(s.dqkv_MC, p.qkv_CD);
    at::Tensor dx_MD = kernels::rms_norm_backward(dnormed1_MD, s.x_MD, p.norm1_D, s.norm1, s.dnorm1_D).add_(s.dmid_MD);
    s.x_MD.reset();
    return dx_MD;
  }

  void backward_weight(const SegmentBuffer& gradients, const Tokens&, Saved& saved) const override {
    auto& s = static_cast<BlockSaved&>(saved);
    const BlockTensors g = views(gradients.flat);
    kernels::linear_backward_weight(s.dy_MD, s.hidden_MF, g.down_DF);
    kernels::linear_backward_weight(s.dgate_up_M2F, s.normed2_MD, g.gate_up_2FD);
    kernels::linear_backward_weight(s.dmid_MD, s.attention_output.out_BTnH.view({-1, N * H}), g.o_DA);
    kernels::linear_backward_weight(s.dqkv_MC, s.normed1_MD, g.qkv_CD);
    g.norm1_D.copy_(s.dnorm1_D);
    g.norm2_D.copy_(s.dnorm2_D);
    g.q_norm_H.copy_(s.dq_norm_H);
    g.k_norm_H.copy_(s.dk_norm_H);
  }

 private:
  BlockTensors views(const at::Tensor& flat) const {
    std::int64_t offset = 0;
    const auto take = [&](at::IntArrayRef shape) {
      const std::int64_t begin = offset;
      offset += c10::multiply_integers(shape);
      return flat.narrow(0, begin, offset - begin).view(shape);
    };
    BlockTensors t;
    t.norm1_D = take({D});
    t.qkv_CD = take({(N + 2 * K) * H, D});
    t.q_norm_H = take({H});
    t.k_norm_H = take({H});
    t.o_DA = take({D, N * H});
    t.norm2_D = take({D});
    t.gate_up_2FD = take({2 * F, D});
    t.down_DF = take({D, F});
    return t;
  }

  // The heads [first, first + count) of q, k, v side by side, as a strided view.
  at::Tensor heads(const at::Tensor& qkv_MC, const Tokens& tokens, std::int64_t first, std::int64_t count) const {
    return qkv_MC.view({tokens.B, tokens.T, N + 2 * K, H}).narrow(2, first, count);
  }

  void attend(const BlockTensors& p, const Tokens& tokens, BlockSaved& s) const {
    s.attention_input.q_BTnH =
        kernels::qk_norm_rope_forward(heads(s.qkv_MC, tokens, 0, N), p.q_norm_H, eps_, rope_, 0, &s.q_norm);
    s.attention_input.k_BSkH =
        kernels::qk_norm_rope_forward(heads(s.qkv_MC, tokens, N, K), p.k_norm_H, eps_, rope_, 0, &s.k_norm);
    s.attention_input.v_BSkH = heads(s.qkv_MC, tokens, N + K, K);
    s.attention_input.kv_of_head = kv_of_head_;
    s.attention_output = kernels::attention_forward(s.attention_input);
  }

  void attend_backward(const BlockTensors& p, const at::Tensor& dout_MA, const Tokens& tokens, BlockSaved& s) const {
    const auto d =
        kernels::attention_backward(dout_MA.view({tokens.B, tokens.T, N, H}), s.attention_input, s.attention_output);
    s.dq_norm_H = at::empty_like(p.q_norm_H);
    s.dk_norm_H = at::empty_like(p.k_norm_H);
    s.dqkv_MC = at::empty_like(s.qkv_MC);
    heads(s.dqkv_MC, tokens, 0, N)
        .copy_(kernels::qk_norm_rope_backward(d.dq_BTnH, heads(s.qkv_MC, tokens, 0, N), p.q_norm_H, rope_, 0, s.q_norm,
                                              s.dq_norm_H));
    heads(s.dqkv_MC, tokens, N, K)
        .copy_(kernels::qk_norm_rope_backward(d.dk_BSkH, heads(s.qkv_MC, tokens, N, K), p.k_norm_H, rope_, 0, s.k_norm,
                                              s.dk_norm_H));
    heads(s.dqkv_MC, tokens, N + K, K).copy_(d.dv_BSkH);
    s.qkv_MC.reset();
    s.attention_input = {};
    s.attention_output.lse_BnT.reset();
  }

  const std::int64_t D, N, K, H, F;
  const double eps_;
  const kernels::RopeTable rope_;
  std::vector<std::int64_t> kv_of_head_;
};

}  // namespace

std::unique_ptr<Segment> make_block_segment(const config::ModelSettings& model, const kernels::RopeTable& rope) {
  return std::make_unique<BlockSegment>(model, rope);
}

}  // namespace troika::model
