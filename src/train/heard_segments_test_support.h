// The real segments of a model, each of which lets the test see, and change, the gradients that its backward has written.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/segment.h"

namespace troika::train {

class HeardSegment final : public model::Segment {
 public:
  using OnGradients = std::function<void(const model::SegmentBuffer& gradients, const model::Tokens& tokens)>;
  HeardSegment(std::unique_ptr<model::Segment> real, OnGradients on_gradients)
      : real_(std::move(real)), on_gradients_(std::move(on_gradients)) {}

  model::ForwardResult forward(const model::SegmentBuffer& parameters, const at::Tensor& x_mD,
                               const model::Tokens& tokens, shape::SavedActivations activations) const override {
    return real_->forward(parameters, x_mD, tokens, activations);
  }
  at::Tensor backward_input(const model::SegmentBuffer& parameters, const at::Tensor& dy_mD,
                            const model::Tokens& tokens, model::Saved& saved) const override {
    return real_->backward_input(parameters, dy_mD, tokens, saved);
  }
  void backward_weight(const model::SegmentLeaves& leaves, const model::Tokens& tokens,
                       model::Saved& saved) const override {
    Copy flat(leaves.flat), tied(leaves.tied), adapter(leaves.adapter);
    real_->backward_weight({flat.leaf(), tied.leaf(), adapter.leaf()}, tokens, saved);
    on_gradients_({flat.join(), tied.join(), adapter.join()}, tokens);
    for (Copy* copy : {&flat, &tied, &adapter}) copy->pass_on();
  }

 private:
  // Of one leaf, between the real segment and whoever is to have its pieces.
  class Copy final : public sharding::LeafWriter {
   public:
    explicit Copy(sharding::LeafWriter* to) : to_(to) {}
    sharding::LeafWriter* leaf() { return to_ == nullptr ? nullptr : this; }

    at::Tensor open(const shape::Range& range) override {
      ranges_.push_back(range);
      pieces_.push_back(at::empty({range.count}, at::kFloat));
      return pieces_.back();
    }
    void close() override {}

    // All up to the last element that was written, to be changed.
    at::Tensor join() {
      if (to_ == nullptr) return {};
      std::int64_t end = 0;
      for (const shape::Range& range : ranges_) end = std::max(end, range.end());
      whole_ = at::zeros({end}, at::kFloat);
      for (std::size_t i = 0; i < ranges_.size(); ++i) whole_.narrow(0, ranges_[i].begin, ranges_[i].count).copy_(pieces_[i]);
      return whole_;
    }
    void pass_on() {
      for (const shape::Range& range : ranges_) {
        to_->open(range).copy_(whole_.narrow(0, range.begin, range.count));
        to_->close();
      }
    }

   private:
    sharding::LeafWriter* const to_;
    std::vector<shape::Range> ranges_;
    std::vector<at::Tensor> pieces_;
    at::Tensor whole_;
  };

  const std::unique_ptr<model::Segment> real_;
  const OnGradients on_gradients_;
};

}  // namespace troika::train
