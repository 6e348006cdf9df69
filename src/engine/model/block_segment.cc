#include "model/segments.h"

#include <optional>

#include "model/block_halves.h"
#include "shape/adapter.h"
#include "tensor/tensor.h"

namespace troika::model {
namespace {

struct BlockSaved final : Saved {
  AttentionSaved attention;
  FeedForwardSaved feed_forward;
  std::int64_t bytes() const override { return attention.bytes() + feed_forward.bytes(); }
};

class BlockSegment final : public Segment {
 public:
  BlockSegment(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
               const shape::Trained& trained, int segment)
      : groups_(groups),
        positions_(positions),
        layout_(shape::segment_layout(model, segment, groups.share())),
        adapter_layout_(shape::adapter_layout(model, trained.lora, segment, groups.share())),
        halves_(model, positions, groups, trained, segment) {}

  ForwardResult forward(const SegmentBuffer& parameters, const tensor::Tensor& x_mD, const Tokens& tokens,
                        shape::SavedActivations activations) const override {
    check_positions(positions_, tokens);
    auto saved = std::make_unique<BlockSaved>();
    StreamSum stream{x_mD, {}};
    if (halves_.attention) {
      stream = {halves_.attention->forward(of_attention(parameters), x_mD, tokens, activations, saved->attention), x_mD};
      if (activations == shape::SavedActivations::none) saved->attention = {};
    }
    ForwardResult result;
    result.y_mD =
        halves_.feed_forward.forward(of_feed_forward(parameters), stream, tokens, activations, saved->feed_forward);
    if (activations != shape::SavedActivations::none) result.saved = std::move(saved);
    return result;
  }

  tensor::Tensor backward_input(const SegmentBuffer& parameters, const tensor::Tensor& dy_mD, const Tokens& tokens,
                                Saved& saved) const override {
    auto& s = static_cast<BlockSaved&>(saved);
    const tensor::Tensor dmid_mD =
        halves_.feed_forward.backward_input(of_feed_forward(parameters), dy_mD, tokens, s.feed_forward);
    if (!halves_.attention) return dmid_mD;
    return halves_.attention->backward_input(of_attention(parameters), dmid_mD, tokens, s.attention);
  }

  void backward_weight(const SegmentLeaves& leaves, const Tokens& tokens, Saved& saved) const override {
    const auto& s = static_cast<const BlockSaved&>(saved);
    if (groups_.tensor->size() == 1) return write(leaves, tokens, s);
    std::optional<HeldLeaf> own, adapter;
    if (leaves.flat != nullptr) own.emplace(*leaves.flat, layout_);
    if (leaves.adapter != nullptr) adapter.emplace(*leaves.adapter, adapter_layout_);
    write({own ? &*own : nullptr, nullptr, adapter ? &*adapter : nullptr}, tokens, s);
    std::vector<sharding::SharedSlice> partial;
    if (own) add_partial_gradients(layout_, *own, &partial);
    if (adapter) add_partial_gradients(adapter_layout_, *adapter, &partial);
    groups_.tensor->sum_shared(partial);
    partial.clear();
    if (own) own->close_all();
    if (adapter) adapter->close_all();
  }

 private:
  using HeldLeaf = sharding::HeldLeaf;

  HalfBuffer of_attention(const SegmentBuffer& buffer) const {
    return {view(buffer.flat, halves_.own_of_attention), view(buffer.adapter, halves_.adapters_of_attention)};
  }
  HalfBuffer of_feed_forward(const SegmentBuffer& buffer) const {
    return {view(buffer.flat, halves_.own_of_feed_forward), view(buffer.adapter, halves_.adapters_of_feed_forward)};
  }

  void write(const SegmentLeaves& leaves, const Tokens& tokens, const BlockSaved& s) const {
    halves_.feed_forward.backward_weight(
        {{leaves.flat, halves_.own_of_feed_forward}, {leaves.adapter, halves_.adapters_of_feed_forward}}, tokens,
        s.feed_forward);
    if (halves_.attention)
      halves_.attention->backward_weight(
          {{leaves.flat, halves_.own_of_attention}, {leaves.adapter, halves_.adapters_of_attention}}, tokens,
          s.attention);
  }

  // Gradients that other ranks hold too and of which this rank has found a summand only.
  void add_partial_gradients(const shape::SegmentLayout& layout, const HeldLeaf& leaf,
                             std::vector<sharding::SharedSlice>* slices) const {
    const bool all_rows = groups_.tensor->sequence_parallel() == shape::SequenceParallel::off;
    for (const shape::Slot& slot : layout.slots) {
      const bool own = slot.end_holder - slot.first_holder == 1;
      const bool whole = slot.found == shape::Found::whole || (slot.found == shape::Found::of_own_rows && all_rows);
      if (!own && !whole)
        slices->push_back({leaf.elements({slot.offset, slot.elements()}), slot.first_holder, slot.end_holder});
    }
  }

  const Groups groups_;
  const Positions positions_;
  const shape::SegmentLayout layout_, adapter_layout_;
  const BlockHalves halves_;
};

}  // namespace

std::unique_ptr<Segment> make_block_segment(const config::ModelSettings& model, const Positions& positions,
                                            const Groups& groups, const shape::Trained& trained, int segment) {
  return std::make_unique<BlockSegment>(model, positions, groups, trained, segment);
}

}  // namespace troika::model
