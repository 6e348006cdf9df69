#include "train/heard_segments_test_support.h"


#include <algorithm>
#include <vector>

#include "tensor/tensor.h"

namespace troika::train {
namespace {

// A copy of one leaf, between the real segment and whoever is to have its pieces.
class Copy final : public sharding::LeafWriter {
 public:
  explicit Copy(sharding::LeafWriter* to) : to_(to) {}
  sharding::LeafWriter* leaf() { return to_ == nullptr ? nullptr : this; }

  tensor::Tensor open(const shape::Range& range) override {
    ranges_.push_back(range);
    pieces_.push_back(tensor::empty({range.count}));
    return pieces_.back();
  }
  void close() override {}

  tensor::Tensor join() {
    if (to_ == nullptr) return {};
    std::int64_t end = 0;
    for (const shape::Range& range : ranges_) end = std::max(end, range.end());
    whole_ = tensor::zeros({end});
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      whole_.narrow(0, ranges_[i].begin, ranges_[i].count).copy_from(pieces_[i]);
    return whole_;
  }

  void pass_on() {
    for (const shape::Range& range : ranges_) {
      to_->open(range).copy_from(whole_.narrow(0, range.begin, range.count));
      to_->close();
    }
  }

 private:
  sharding::LeafWriter* const to_;
  std::vector<shape::Range> ranges_;
  std::vector<tensor::Tensor> pieces_;
  tensor::Tensor whole_;
};

}  // namespace

void HeardSegment::backward_weight(const model::SegmentLeaves& leaves, const model::Tokens& tokens,
                                   model::Saved& saved) const {
  Copy flat(leaves.flat), tied(leaves.tied), adapter(leaves.adapter);
  real_->backward_weight({flat.leaf(), tied.leaf(), adapter.leaf()}, tokens, saved);
  on_gradients_({flat.join(), tied.join(), adapter.join()}, tokens);
  for (Copy* copy : {&flat, &tied, &adapter}) copy->pass_on();
}

}  // namespace troika::train
