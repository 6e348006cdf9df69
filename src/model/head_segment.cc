// Shapes: M rows (B * T), m those that this rank keeps, D width, v its part of the vocabulary.
#include "model/head_segment.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "kernels/linear.h"
#include "kernels/output_loss.h"
#include "kernels/rms_norm.h"

namespace troika::model {
namespace {

struct HeadSaved final : Saved {
  at::Tensor x_mD, normed_mD, lse_M, dnorm_D;
  kernels::RmsNormSaved norm;
  kernels::OutputLossSaved loss;
  std::int64_t bytes() const override {
    return norm.bytes() + loss.bytes() + bytes_of({&x_mD, &normed_mD, &lse_M, &dnorm_D});
  }
};

// Views of the head's parameters or gradients.
struct HeadTensors {
  at::Tensor norm_D, table_vD;
};

HeadTensors views(const SegmentBuffer& buffer, std::int64_t v, std::int64_t D) {
  return {buffer.flat.narrow(0, 0, D),
          buffer.tied_VD.defined() ? buffer.tied_VD : buffer.flat.narrow(0, D, v * D).view({v, D})};
}

double gradient_scale(const Tokens& tokens) {
  if (tokens.T_whole < tokens.T)
    throw base::BugError(fmt::format("{} positions of a sequence of {}", tokens.T, tokens.T_whole));
  return tokens.loss_scale / static_cast<double>(tokens.B * tokens.T_whole);
}

class HeadSegment final : public Segment {
 public:
  HeadSegment(const config::ModelSettings& model, const Groups& groups)
      : groups_(groups), vocab_(local_widths(model, groups.share()).vocab), D(model.hidden), eps_(model.norm_eps) {}

  ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor& x_mD, const Tokens& tokens,
                        Keep keep) const override {
    const HeadTensors p = views(parameters, vocab_.count, D);
    auto saved = std::make_unique<HeadSaved>();
    saved->x_mD = x_mD;
    const at::Tensor normed_mD = kernels::rms_norm_forward(x_mD, p.norm_D, eps_, &saved->norm);
    if (keep == Keep::for_backward) saved->normed_mD = normed_mD;
    const kernels::OutputLossPart whole = join(
        kernels::output_loss_forward(groups_.tensor->spread(normed_mD, tokens.B * tokens.T), p.table_vD,
                                     tokens.targets_M, vocab_.begin, keep == Keep::nothing ? nullptr : &saved->loss));
    saved->lse_M = whole.lse_M;
    ForwardResult result;
    result.loss = kernels::output_loss_sum(whole, tokens.targets_M);
    if (keep != Keep::nothing) result.saved = std::move(saved);
    return result;
  }

  at::Tensor backward_input(const SegmentBuffer& parameters, const at::Tensor&, const Tokens& tokens,
                            Saved& saved) const override {
    auto& s = static_cast<HeadSaved&>(saved);
    const HeadTensors p = views(parameters, vocab_.count, D);
    const at::Tensor dnormed_mD = groups_.tensor->collect(kernels::output_loss_backward_input(
        p.table_vD, tokens.targets_M, vocab_.begin, s.lse_M, gradient_scale(tokens), s.loss));
    if (!s.normed_mD.defined()) s.normed_mD = kernels::rms_norm_forward(s.x_mD, p.norm_D, eps_, nullptr);
    s.dnorm_D = gradient_like(p.norm_D);
    at::Tensor dx_mD = kernels::rms_norm_backward(dnormed_mD, s.x_mD, p.norm_D, s.norm, s.dnorm_D);
    s.x_mD.reset();
    s.lse_M.reset();
    return dx_mD;
  }

  void backward_weight(const SegmentBuffer& gradients, const Tokens& tokens, Saved& saved) const override {
    auto& s = static_cast<HeadSaved&>(saved);
    const HeadTensors g = views(gradients, vocab_.count, D);
    g.norm_D.copy_(s.dnorm_D);
    kernels::output_loss_backward_weight(groups_.tensor->spread(s.normed_mD, tokens.B * tokens.T), s.loss, g.table_vD);
    // Of own rows; without sequence parallelism every rank has seen all rows.
    if (groups_.tensor->sequence_parallel() == sharding::SequenceParallel::on) groups_.tensor->sum({g.norm_D});
  }

 private:
  // The parts of all ranks' vocabularies.
  kernels::OutputLossPart join(const kernels::OutputLossPart& mine) const {
    if (groups_.tensor->size() == 1) return mine;
    std::vector<kernels::OutputLossPart> parts;
    for (const at::Tensor& both : groups_.tensor->gather(at::stack({mine.lse_M, mine.target_M})))
      parts.push_back({both.select(0, 0), both.select(0, 1)});
    return kernels::output_loss_join(parts);
  }

  const Groups groups_;
  const sharding::Range vocab_;
  const std::int64_t D;
  const double eps_;
};

}  // namespace

std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model, const Groups& groups) {
  return std::make_unique<HeadSegment>(model, groups);
}

at::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters, const at::Tensor& x_MD) {
  const HeadTensors p = views(parameters, model.vocab, model.hidden);
  return kernels::linear_forward(kernels::rms_norm_forward(x_MD, p.norm_D, model.norm_eps, nullptr), p.table_vD);
}

}  // namespace troika::model
