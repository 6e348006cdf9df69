// Shapes: M rows, m those that this rank keeps, r those with loss, D width, v its part of the vocabulary, E elements of the norm.

#include <algorithm>

#include "kernels/linear.h"
#include "kernels/output_loss.h"
#include "kernels/row_loss.h"
#include "model/segments.h"
#include "shape/gpu_chunks.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {
namespace {

struct HeadSaved final : Saved {
  tensor::Tensor x_mD, normed_mD, lse_M, dnorm_E;
  NormSaved norm;
  kernels::OutputLossSaved loss;
  shape::LossKeep kept = shape::LossKeep::logits;
  std::int64_t bytes() const override {
    return norm.bytes() + loss.bytes() + bytes_of({&x_mD, &normed_mD, &lse_M, &dnorm_E});
  }
};

// Views of the head's parameters.
struct HeadTensors {
  tensor::Tensor norm_E, table_vD;
};

HeadTensors views(const SegmentBuffer& buffer, std::int64_t E, std::int64_t v, std::int64_t D) {
  const tensor::Tensor flat_vD = buffer.tied.defined() ? buffer.tied.narrow(0, 0, v * D) : buffer.flat.narrow(0, E, v * D);
  return {buffer.flat.narrow(0, 0, E), flat_vD.view({v, D})};
}

// Logits are divided by dividing what they are products of.
void divide(const tensor::Tensor& x, double divisor) {
  if (divisor != 1) tensor::multiply(x, 1 / divisor);
}

// The rows that carry loss; no other row needs logits. A device takes all, since its products are of whole multiples of rows.
class CountedRows {
 public:
  CountedRows(const kernels::RowLoss& loss, const tensor::Tensor& targets_M) : M_(targets_M.elements()), targets_(targets_M) {
    if (!targets_M.is_cpu()) return;
    const tensor::Tensor weight_M = loss.weights(targets_M, 1);
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < M_; ++i)
      if (weight_M.data<float>()[i] != 0) rows.push_back(i);
    if (static_cast<std::int64_t>(rows.size()) == M_) return;
    index_r_ = tensor::of(rows);
    targets_ = tensor::rows_of(targets_M, index_r_);
  }

  const tensor::Tensor& targets() const { return targets_; }
  tensor::Tensor of(const tensor::Tensor& x_MD) const { return index_r_.defined() ? tensor::rows_of(x_MD, index_r_) : x_MD; }
  // The gradient of all rows from that of these.
  tensor::Tensor spread(const tensor::Tensor& dx_rD) const {
    if (!index_r_.defined()) return dx_rD;
    const tensor::Tensor dx_MD = tensor::zeros({M_, dx_rD.size(1)}, dx_rD.type());
    tensor::set_rows(dx_MD, index_r_, dx_rD);
    return dx_MD;
  }

 private:
  const std::int64_t M_;
  tensor::Tensor targets_, index_r_;
};

class HeadSegment final : public Segment {
 public:
  HeadSegment(const config::ModelSettings& model, const Groups& groups, const shape::Trained& trained,
              OnLogits on_logits)
      : groups_(groups),
        trained_(trained.own(shape::segment_count(model) - 1)),
        D(model.hidden),
        norm_(make_norm(model)),
        divisor_(model.logits_divisor),
        loss_(kernels::row_loss(trained.loss)),
        on_logits_(std::move(on_logits)) {
    for (int rank = 0; rank < groups.share().size; ++rank)
      parts_.push_back(shape::local_widths(model, {rank, groups.share().size}).vocab);
    vocab_ = parts_[static_cast<std::size_t>(groups.share().rank)];
  }

  ForwardResult forward(const SegmentBuffer& parameters, const tensor::Tensor& x_mD, const Tokens& tokens,
                        shape::SavedActivations activations) const override {
    const HeadTensors p = views(parameters, norm_->elements(), vocab_.count, D);
    auto saved = std::make_unique<HeadSaved>();
    saved->x_mD = x_mD;
    const tensor::Tensor normed_mD = normed(p, x_mD, &saved->norm);
    const tensor::Tensor normed_MD = groups_.tensor->all_gather(normed_mD, tokens.M);
    if (on_logits_) on_logits_(logits(normed_MD, p.table_vD));
    const CountedRows rows(*loss_, tokens.targets_M);
    const kernels::OutputLossPart whole = loss(rows, normed_MD, p.table_vD, tokens, activations, *saved);
    if (saved->kept == shape::LossKeep::logits) {
      if (activations == shape::SavedActivations::all && trained_) saved->normed_mD = normed_mD;
      saved->lse_M = whole.lse_M;
    }
    ForwardResult result;
    result.loss_2 = loss_->sum(whole, rows.targets());
    if (activations != shape::SavedActivations::none) result.saved = std::move(saved);
    return result;
  }

  tensor::Tensor backward_input(const SegmentBuffer& parameters, const tensor::Tensor&, const Tokens& tokens,
                                Saved& saved) const override {
    auto& s = static_cast<HeadSaved&>(saved);
    const HeadTensors p = views(parameters, norm_->elements(), vocab_.count, D);
    const CountedRows rows(*loss_, tokens.targets_M);
    const tensor::Tensor dnormed_mD = groups_.tensor->reduce_scatter(rows.spread(kernels::output_loss_backward_input(
        *loss_, p.table_vD, rows.targets(), vocab_.begin, s.lse_M, loss_factor(tokens), s.loss)));
    if (!s.normed_mD.defined() && reads_normed(s)) s.normed_mD = normed(p, s.x_mD, nullptr);
    divide(dnormed_mD, divisor_);
    s.dnorm_E = gradient_like(p.norm_E);
    tensor::Tensor dx_mD = norm_->backward(p.norm_E, dnormed_mD, s.x_mD, s.norm, s.dnorm_E);
    drop(s.x_mD, s.lse_M);
    if (!trained_) {
      s.loss = {};
      s.norm = {};
      drop(s.dnorm_E);
    }
    return dx_mD;
  }

  void backward_weight(const SegmentLeaves& leaves, const Tokens& tokens, Saved& saved) const override {
    if (!trained_) return;
    auto& s = static_cast<HeadSaved&>(saved);
    const std::int64_t E = norm_->elements(), table = vocab_.count * D;
    const LeafPart dnorm(leaves.flat, {0, E}),
        dtable = leaves.tied != nullptr ? LeafPart(leaves.tied, {0, table}) : LeafPart(leaves.flat, {E, table});
    // A sum over this rank's rows; without sequence parallelism every rank has seen all rows.
    if (groups_.tensor->sequence_parallel() == shape::SequenceParallel::on) groups_.tensor->sum({s.dnorm_E});
    dnorm.write(s.dnorm_E);
    if (s.kept == shape::LossKeep::gradients) return dtable.write(s.loss.dw_vD);
    const tensor::Tensor normed_rD =
        reads_normed(s) ? CountedRows(*loss_, tokens.targets_M).of(groups_.tensor->all_gather(s.normed_mD, tokens.M)) : tensor::Tensor();
    const auto open = [&](std::int64_t first, std::int64_t count) {
      dtable.close();
      const auto [elements, sum] = dtable.part({first * D, count * D}).open_sum();
      return tensor::Destination{elements.view({count, D}), sum};
    };
    kernels::output_loss_backward_weight(normed_rD, s.loss, shape::rows_of_table_piece(D), open);
    dtable.close();
  }

 private:
  tensor::Tensor normed(const HeadTensors& p, const tensor::Tensor& x_mD, NormSaved* saved) const {
    const tensor::Tensor normed_mD = norm_->forward(p.norm_E, x_mD, saved);
    divide(normed_mD, divisor_);
    return normed_mD;
  }
  // Whether backward_weight does.
  bool reads_normed(const HeadSaved& s) const { return trained_ && s.kept == shape::LossKeep::logits; }

  kernels::OutputLossPart loss(const CountedRows& rows, const tensor::Tensor& x_MD, const tensor::Tensor& table_vD,
                               const Tokens& tokens, shape::SavedActivations activations, HeadSaved& saved) const {
    const tensor::Tensor x_rD = rows.of(x_MD);
    const auto wanted = trained_ ? kernels::LossGradients::input_and_weight : kernels::LossGradients::input;
    saved.kept = shape::output_loss_keep(
        {std::max(tokens.largest_M, tokens.M), D, vocab_.count, groups_.tensor->size(), static_cast<std::int64_t>(x_MD.element_bytes()),
         trained_ ? shape::OutputLossShape::Weight::trained : shape::OutputLossShape::Weight::frozen});
    if (activations != shape::SavedActivations::none && saved.kept == shape::LossKeep::gradients)
      return kernels::output_loss_forward_with_gradients(*loss_, x_rD, table_vD, rows.targets(), loss_factor(tokens),
                                                         saved.loss, wanted);
    return join(kernels::output_loss_forward(x_rD, table_vD, rows.targets(), vocab_.begin,
                                             activations == shape::SavedActivations::none ? nullptr : &saved.loss));
  }

  // The logits over all ranks' vocabularies, side by side.
  tensor::Tensor logits(const tensor::Tensor& x_MD, const tensor::Tensor& table_vD) const {
    const auto& last = parts_.back();
    std::int64_t widest = 0;
    for (const shape::Range& part : parts_) widest = std::max(widest, part.count);
    const auto options = x_MD.type().of(tensor::Dtype::fp32);
    const tensor::Tensor mine = tensor::zeros({x_MD.size(0), widest}, options);
    kernels::linear_forward_float(x_MD, table_vD, mine.narrow(1, 0, vocab_.count));
    if (parts_.size() == 1) return mine;
    const tensor::Tensor all_MV = tensor::empty({x_MD.size(0), last.begin + last.count}, options);
    const std::vector<tensor::Tensor> gathered = groups_.tensor->gather(mine);
    for (std::size_t r = 0; r < parts_.size(); ++r)
      all_MV.narrow(1, parts_[r].begin, parts_[r].count).copy_from(gathered[r].narrow(1, 0, parts_[r].count));
    return all_MV;
  }

  // The parts of all ranks' vocabularies.
  kernels::OutputLossPart join(const kernels::OutputLossPart& mine) const {
    if (groups_.tensor->size() == 1) return mine;
    std::vector<kernels::OutputLossPart> parts;
    for (const tensor::Tensor& both : groups_.tensor->gather(tensor::stack({mine.lse_M, mine.target_M})))
      parts.push_back({both.select(0, 0), both.select(0, 1)});
    return kernels::output_loss_join(parts);
  }

  const Groups groups_;
  const bool trained_;
  std::vector<shape::Range> parts_;  // of the vocabulary, by tp rank
  shape::Range vocab_;               // this rank's
  const std::int64_t D;
  const std::unique_ptr<const Norm> norm_;
  const double divisor_;
  const std::unique_ptr<const kernels::RowLoss> loss_;
  const OnLogits on_logits_;
};

}  // namespace

std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model, const Groups& groups,
                                           const shape::Trained& trained, OnLogits on_logits) {
  return std::make_unique<HeadSegment>(model, groups, trained, std::move(on_logits));
}

tensor::Tensor head_logits(const config::ModelSettings& model, const SegmentBuffer& parameters, const tensor::Tensor& x_MD) {
  const auto norm = make_norm(model);
  const HeadTensors p = views(parameters, norm->elements(), model.vocab, model.hidden);
  const tensor::Tensor logits_MV = tensor::empty({x_MD.size(0), model.vocab}, x_MD.type().of(tensor::Dtype::fp32));
  const tensor::Tensor normed_MD = norm->forward(p.norm_E, x_MD, nullptr);
  divide(normed_MD, model.logits_divisor);
  kernels::linear_forward_float(normed_MD, p.table_vD, logits_MV);
  return logits_MV;
}

}  // namespace troika::model
