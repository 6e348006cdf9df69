// Shapes: M rows, m those that this rank keeps, v its part of the vocabulary, D width, P learned positions.
#include "model/segments.h"

#include "kernels/vocabulary.h"
#include "shape/architecture.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {
namespace {

struct EmbeddingSaved final : Saved {
  tensor::Tensor dy_mD;
  std::int64_t bytes() const override { return bytes_of({&dy_mD}); }
};

// Of halves the factor is rounded too.
void scale(const tensor::Tensor& x, double factor) {
  if (factor == 1) return;
  tensor::multiply(x, x.dtype() == tensor::Dtype::fp32 ? factor : tensor::value_of(tensor::full({1}, factor, {x.dtype(), tensor::Device()}).to(tensor::Dtype::fp32)));
}

class EmbeddingSegment final : public Segment {
 public:
  EmbeddingSegment(const config::ModelSettings& model, const Positions& positions, const Groups& groups)
      : groups_(groups),
        positions_(positions),
        vocab_(shape::local_widths(model, groups.share()).vocab),
        D(model.hidden),
        P(positions.learned() ? model.max_positions : 0),
        scale_(shape::embedding_scale(model)) {}

  ForwardResult forward(const SegmentBuffer& parameters, const tensor::Tensor&, const Tokens& tokens,
                        shape::SavedActivations activations) const override {
    check_positions(positions_, tokens);
    ForwardResult result;
    const tensor::Tensor own_MD = kernels::embedding_forward(tokens.ids_M, table(parameters), vocab_.begin);
    result.y_mD = groups_.tensor->reduce_scatter(own_MD);
    scale(result.y_mD, scale_);
    if (P > 0) add_positions(parameters, tokens, result.y_mD);
    if (activations != shape::SavedActivations::none) result.saved = std::make_unique<EmbeddingSaved>();
    return result;
  }

  tensor::Tensor backward_input(const SegmentBuffer&, const tensor::Tensor& dy_mD, const Tokens&, Saved& saved) const override {
    scale(dy_mD, scale_);
    static_cast<EmbeddingSaved&>(saved).dy_mD = dy_mD;
    return {};
  }

  void backward_weight(const SegmentLeaves& leaves, const Tokens& tokens, Saved& saved) const override {
    const tensor::Tensor dy_MD = groups_.tensor->all_gather(static_cast<EmbeddingSaved&>(saved).dy_mD, tokens.M);
    const LeafPart dtable(leaves.flat, {0, vocab_.count * D}), dlearned(leaves.flat, {vocab_.count * D, P * D});
    dtable.write_rows(kernels::embedding_backward_weight(dy_MD, tokens.ids_M, vocab_.begin, vocab_.count));
    if (P > 0)
      dlearned.write_rows(kernels::embedding_backward_weight(dy_MD, tokens.position_M, 0, P));
  }

 private:
  tensor::Tensor table(const SegmentBuffer& buffer) const {
    return buffer.flat.narrow(0, 0, vocab_.count * D).view({vocab_.count, D});
  }
  tensor::Tensor learned(const SegmentBuffer& buffer) const {
    return buffer.flat.narrow(0, vocab_.count * D, P * D).view({P, D});
  }
  void add_positions(const SegmentBuffer& parameters, const Tokens& tokens, tensor::Tensor& y_mD) const {
    const shape::Range rows = groups_.tensor->rows(tokens.M);
    const tensor::Tensor own_m = tokens.position_M.narrow(0, rows.begin, rows.count);
    tensor::add(y_mD, kernels::embedding_forward(own_m, learned(parameters), 0));
  }

  const Groups groups_;
  const Positions positions_;
  const shape::Range vocab_;
  const std::int64_t D, P;
  const double scale_;
};

}  // namespace

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model, const Positions& positions,
                                                const Groups& groups) {
  return std::make_unique<EmbeddingSegment>(model, positions, groups);
}

tensor::Tensor embed(const config::ModelSettings& model, const tensor::Tensor& flat, const tensor::Tensor& ids_M,
                     const tensor::Tensor& positions_M) {
  const std::int64_t V = model.vocab, P = model.max_positions, D = model.hidden;
  const tensor::Tensor x_MD = kernels::embedding_forward(ids_M, flat.narrow(0, 0, V * D).view({V, D}), 0);
  scale(x_MD, shape::embedding_scale(model));
  if (shape::architecture_of(model).positions == shape::Architecture::Positions::rotary) return x_MD;
  tensor::add(x_MD, kernels::embedding_forward(positions_M, flat.narrow(0, V * D, P * D).view({P, D}), 0));
  return x_MD;
}

}  // namespace troika::model
