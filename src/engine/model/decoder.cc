#include "model/decoder.h"

#include <iterator>

#include "base/error.h"
#include "model/segments.h"

namespace troika::model {

shape::TensorShare Parallelism::share() const {
  return tensor == nullptr ? shape::TensorShare{} : shape::TensorShare{tensor->rank(), tensor->size()};
}

std::vector<std::unique_ptr<Segment>> make_segments(const config::ModelSettings& model, std::int64_t seq_len,
                                                    const tensor::Device& device, const Parallelism& parallel,
                                                    const OnLogits& on_logits, const shape::Trained& trained) {
  const Groups groups = groups_of(parallel);
  const Positions positions = make_positions(model, seq_len, device);
  std::vector<std::unique_ptr<Segment>> segments;
  segments.push_back(make_embedding_segment(model, positions, groups));
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    segments.push_back(make_block_segment(model, positions, groups, trained, static_cast<int>(layer) + 1));
  segments.push_back(make_head_segment(model, groups, trained, on_logits));
  return segments;
}

std::int64_t DecoderResult::saved_bytes() const {
  std::int64_t sum = 0;
  for (const auto& one : saved) sum += one == nullptr ? 0 : one->bytes();
  return sum;
}

Decoder::Decoder(const config::ModelSettings& model, int first, int end, const Options& options)
    : model_(model), options_(options), first_(first) {
  auto all = make_segments(model, options.seq_len, options.device, options.parallel);
  segments_.assign(std::make_move_iterator(all.begin() + first), std::make_move_iterator(all.begin() + end));
  const shape::TensorShare share = options.parallel.share();
  for (int segment = first; segment < end; ++segment) layouts_.push_back(shape::segment_layout(model, segment, share));
  if (model.tie_embeddings && end == shape::segment_count(model)) layouts_.push_back(shape::tied_layout(model, share));
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const bool copy_or_own = i < segments_.size() || has_tied_copy();
    parameters_.push_back(copy_or_own
                              ? tensor::empty({layouts_[i].elements}, tensor::TensorType(options.dtype, options.device))
                              : parameters_.front());
  }
}

Decoder::Decoder(const config::ModelSettings& model, const Options& options)
    : Decoder(model, 0, shape::segment_count(model), options) {}

bool Decoder::has_tied_copy() const { return has_tied_use() && first_ > 0; }

std::vector<tensor::Tensor> Decoder::new_gradients() const {
  std::vector<tensor::Tensor> gradients;
  for (const shape::SegmentLayout& layout : layouts_)
    gradients.push_back(tensor::empty({layout.elements}, tensor::TensorType(tensor::Dtype::fp32, options_.device)));
  return gradients;
}

tensor::Tensor Decoder::view(const tensor::Tensor& flat, const shape::Slot& slot) {
  return flat.narrow(0, slot.offset, slot.elements()).view(shape::local_shape(slot));
}

void Decoder::initialise(std::uint64_t seed, double init_std) const {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (i >= segments_.size() && !has_tied_copy()) continue;
    const tensor::Tensor host = tensor::empty({layouts_[i].elements}, tensor::Dtype::fp32);
    model::initialise(layouts_[i], host, seed, init_std);
    tensor::Tensor own = parameters_[i];
    own.copy_from(host);
  }
}

SegmentBuffer Decoder::buffer(const std::vector<tensor::Tensor>& flats, std::size_t index) const {
  SegmentBuffer buffer{flats[index], {}, {}};
  if (has_tied_use() && index + 1 == segments_.size()) buffer.tied = flats.back();
  return buffer;
}

DecoderResult Decoder::forward(const tensor::Tensor& x_mD, const Tokens& tokens,
                               shape::SavedActivations activations) const {
  DecoderResult result;
  result.y_mD = x_mD;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    ForwardResult one = segments_[i]->forward(buffer(parameters_, i), result.y_mD, tokens, activations);
    result.y_mD = std::move(one.y_mD);
    if (one.loss_2.defined()) result.loss = kernels::read_loss(one.loss_2);
    result.saved.push_back(std::move(one.saved));
  }
  return result;
}

tensor::Tensor Decoder::backward_input(const tensor::Tensor& dy_mD, const Tokens& tokens, DecoderResult& result) const {
  tensor::Tensor d_mD = dy_mD;
  for (std::size_t i = segments_.size(); i-- > 0;)
    d_mD = segments_[i]->backward_input(buffer(parameters_, i), d_mD, tokens, *result.saved[i]);
  return d_mD;
}

void Decoder::backward_weight(const std::vector<tensor::Tensor>& gradients, const Tokens& tokens,
                              DecoderResult& result) const {
  for (std::size_t i = segments_.size(); i-- > 0;) {
    const SegmentBuffer of_segment = buffer(gradients, i);
    sharding::FlatLeaf flat(of_segment.flat), tied(of_segment.tied);
    segments_[i]->backward_weight({&flat, of_segment.tied.defined() ? &tied : nullptr, nullptr}, tokens,
                                  *result.saved[i]);
    flat.finish();
    if (of_segment.tied.defined()) tied.finish();
    result.saved[i].reset();
  }
}

}  // namespace troika::model
