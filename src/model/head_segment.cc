// Shapes: M rows (B * T), D width, V vocabulary.
#include "model/head_segment.h"

#include <ATen/ATen.h>

#include "kernels/linear.h"
#include "kernels/output_loss.h"
#include "kernels/rms_norm.h"
#include "model/decoder.h"

namespace troika::model {
namespace {

struct HeadSaved final : Saved {
  at::Tensor x_MD, normed_MD, dnorm_D;
  kernels::RmsNormSaved norm;
  kernels::OutputLossSaved loss;
  std::int64_t bytes() const override {
    std::int64_t sum = norm.bytes() + loss.bytes();
    for (const auto& t : {x_MD, normed_MD, dnorm_D}) sum += t.defined() ? static_cast<std::int64_t>(t.nbytes()) : 0;
    return sum;
  }
};

// Views of the head's parameters or gradients.
struct HeadTensors {
  at::Tensor norm_D, table_VD;
};

HeadTensors views(const SegmentBuffer& buffer, std::int64_t V, std::int64_t D) {
  return {buffer.flat.narrow(0, 0, D),
          buffer.tied_VD.defined() ? buffer.tied_VD : buffer.flat.narrow(0, D, V * D).view({V, D})};
}

class HeadSegment final : public Segment {
 public:
  explicit HeadSegment(const config::ModelSettings& model) : V(model.vocab), D(model.hidden), eps_(model.norm_eps) {}

  ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor& x_MD, const Tokens& tokens,
                        Keep keep) const override {
    const HeadTensors p = views(parameters, V, D);
    auto saved = std::make_unique<HeadSaved>();
    saved->x_MD = x_MD;
    saved->normed_MD = kernels::rms_norm_forward(x_MD, p.norm_D, eps_, &saved->norm);
    ForwardResult result;
    result.loss = kernels::output_loss_forward(saved->normed_MD, p.table_VD, tokens.targets_M,
                                               keep == Keep::for_backward ? &saved->loss : nullptr);
    if (keep == Keep::for_backward) result.saved = std::move(saved);
    return result;
  }

  at::Tensor backward_input(const SegmentBuffer& parameters, const at::Tensor&, const Tokens& tokens,
                            Saved& saved) const override {
    auto& s = static_cast<HeadSaved&>(saved);
    const HeadTensors p = views(parameters, V, D);
    const double scale = 1.0 / static_cast<double>(tokens.B * tokens.T);
    const at::Tensor dnormed_MD = kernels::output_loss_backward_input(p.table_VD, tokens.targets_M, scale, s.loss);
    s.dnorm_D = at::empty_like(p.norm_D);
    at::Tensor dx_MD = kernels::rms_norm_backward(dnormed_MD, s.x_MD, p.norm_D, s.norm, s.dnorm_D);
    s.x_MD.reset();
    return dx_MD;
  }

  void backward_weight(const SegmentBuffer& gradients, const Tokens&, Saved& saved) const override {
    auto& s = static_cast<HeadSaved&>(saved);
    const HeadTensors g = views(gradients, V, D);
    g.norm_D.copy_(s.dnorm_D);
    kernels::output_loss_backward_weight(s.normed_MD, s.loss, g.table_VD);
  }

 private:
  const std::int64_t V, D;
  const double eps_;
};

}  // namespace

std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model) {
  return std::make_unique<HeadSegment>(model);
}

at::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters, const at::Tensor& x_BD) {
  const HeadTensors p = views(parameters, model.vocab, model.hidden);
  return kernels::linear_forward(kernels::rms_norm_forward(x_BD, p.norm_D, model.norm_eps, nullptr), p.table_VD);
}

}  // namespace troika::model
