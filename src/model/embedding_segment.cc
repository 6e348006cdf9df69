#include "model/embedding_segment.h"

#include "kernels/embedding.h"

namespace troika::model {
namespace {

struct EmbeddingSaved final : Saved {
  at::Tensor dy_MD;
  std::int64_t bytes() const override { return dy_MD.defined() ? static_cast<std::int64_t>(dy_MD.nbytes()) : 0; }
};

class EmbeddingSegment final : public Segment {
 public:
  explicit EmbeddingSegment(const config::ModelSettings& model) : V(model.vocab), D(model.hidden) {}

  ForwardResult forward(const SegmentBuffer& parameters, const at::Tensor&, const Tokens& tokens,
                        Keep keep) const override {
    ForwardResult result;
    result.y_MD = kernels::embedding_forward(tokens.ids_M, parameters.flat.view({V, D}));
    if (keep == Keep::for_backward) result.saved = std::make_unique<EmbeddingSaved>();
    return result;
  }

  at::Tensor backward_input(const SegmentBuffer&, const at::Tensor& dy_MD, const Tokens&, Saved& saved) const override {
    static_cast<EmbeddingSaved&>(saved).dy_MD = dy_MD;
    return {};
  }

  void backward_weight(const SegmentBuffer& gradients, const Tokens& tokens, Saved& saved) const override {
    kernels::embedding_backward_weight(static_cast<EmbeddingSaved&>(saved).dy_MD, tokens.ids_M,
                                       gradients.flat.view({V, D}));
  }

 private:
  const std::int64_t V, D;
};

}  // namespace

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model) {
  return std::make_unique<EmbeddingSegment>(model);
}

}  // namespace troika::model
