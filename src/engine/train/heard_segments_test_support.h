// The real segments of a model, each of which lets the test see, and change, the gradients that its backward has written.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "model/segment.h"
#include "tensor/tensor.h"

namespace troika::train {

class HeardSegment final : public model::Segment {
 public:
  // gradients: whole buffers, up to the last element that was written.
  using OnGradients = std::function<void(const model::SegmentBuffer& gradients, const model::Tokens& tokens)>;
  HeardSegment(std::unique_ptr<model::Segment> real, OnGradients on_gradients)
      : real_(std::move(real)), on_gradients_(std::move(on_gradients)) {}

  model::ForwardResult forward(const model::SegmentBuffer& parameters, const tensor::Tensor& x_mD,
                               const model::Tokens& tokens, shape::SavedActivations activations) const override {
    return real_->forward(parameters, x_mD, tokens, activations);
  }
  tensor::Tensor backward_input(const model::SegmentBuffer& parameters, const tensor::Tensor& dy_mD,
                            const model::Tokens& tokens, model::Saved& saved) const override {
    return real_->backward_input(parameters, dy_mD, tokens, saved);
  }
  void backward_weight(const model::SegmentLeaves& leaves, const model::Tokens& tokens,
                       model::Saved& saved) const override;

 private:
  const std::unique_ptr<model::Segment> real_;
  const OnGradients on_gradients_;
};

}  // namespace troika::train
