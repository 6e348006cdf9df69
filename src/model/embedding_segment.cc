// Shapes: M rows, m those that this rank keeps, v its part of the vocabulary, D width.
#include "model/embedding_segment.h"

#include "kernels/embedding.h"

namespace troika::model {
namespace {

struct EmbeddingSaved final : Saved {
  at::Tensor dy_mD;
  std::int64_t bytes() const override { return bytes_of({&dy_mD}); }
};

class EmbeddingSegment final : public Segment {
 public:
  EmbeddingSegment(const config::ModelSettings& model, const Groups& groups)
      : groups_(groups), vocab_(local_widths(model, groups.share()).vocab), D(model.hidden) {}

  ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor&, const Tokens& tokens,
                        Keep keep) const override {
    ForwardResult result;
    const at::Tensor own_MD = kernels::embedding_forward(tokens.ids_M, table(parameters), vocab_.begin);
    result.y_mD = groups_.tensor->collect(own_MD);
    if (keep != Keep::nothing) result.saved = std::make_unique<EmbeddingSaved>();
    return result;
  }

  at::Tensor backward_input(const SegmentBuffer&, const at::Tensor& dy_mD, const Tokens&, Saved& saved) const override {
    static_cast<EmbeddingSaved&>(saved).dy_mD = dy_mD;
    return {};
  }

  void backward_weight(const SegmentBuffer& gradients, const Tokens& tokens, Saved& saved) const override {
    const at::Tensor dy_MD = groups_.tensor->spread(static_cast<EmbeddingSaved&>(saved).dy_mD, tokens.B * tokens.T);
    kernels::embedding_backward_weight(dy_MD, tokens.ids_M, vocab_.begin, table(gradients));
  }

 private:
  at::Tensor table(const SegmentBuffer& buffer) const { return buffer.flat.view({vocab_.count, D}); }

  const Groups groups_;
  const sharding::Range vocab_;
  const std::int64_t D;
};

}  // namespace

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model, const Groups& groups) {
  return std::make_unique<EmbeddingSegment>(model, groups);
}

}  // namespace troika::model
