#include "model/stage.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/random.h"
#include "tensor/device.h"

namespace troika::model {

std::int64_t StageResult::saved_bytes() const {
  std::int64_t sum = 0;
  for (const auto& one : saved) sum += one == nullptr ? 0 : one->bytes();
  return sum;
}

Stage::Stage(StageLayout layout, std::vector<std::unique_ptr<Segment>> segments, const c10::Device& device)
    : layout_(std::move(layout)),
      segments_(std::move(segments)),
      parameters_(tensor::empty_float({layout_.parameter_elements}, device)) {}

at::Tensor Stage::view(const at::Tensor& flat, const Slot& slot) const {
  return flat.narrow(0, slot.offset, slot.info.elements()).view(slot.info.shape);
}

SegmentBuffer Stage::buffer(const at::Tensor& flat, std::size_t index, std::int64_t tied_offset) const {
  const std::int64_t begin = layout_.segment_begin[index], end = layout_.segment_begin[index + 1];
  SegmentBuffer buffer{flat.narrow(0, begin, end - begin), {}};
  const bool last = index + 1 == segments_.size();
  if (last && layout_.tied_use >= 0) {
    const std::int64_t elements = layout_.gradient_elements - layout_.tied_use;
    const Slot& table = layout_.tied_copy ? layout_.slots.back() : layout_.slots.front();
    const std::int64_t D = table.info.shape.back();
    buffer.tied_VD = flat.narrow(0, tied_offset, elements).view({elements / D, D});
  }
  return buffer;
}

SegmentBuffer Stage::segment_parameters(std::size_t index) const {
  return buffer(parameters_, index, layout_.tied_parameter);
}

StageResult Stage::forward(const at::Tensor& x_MD, const Tokens& tokens, Keep keep) const {
  StageResult result;
  result.y_MD = x_MD;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    ForwardResult one = segments_[i]->forward(segment_parameters(i), result.y_MD, tokens, keep);
    result.y_MD = std::move(one.y_MD);
    result.loss.loss += one.loss.loss;
    result.loss.tokens += one.loss.tokens;
    result.saved.push_back(std::move(one.saved));
  }
  return result;
}

at::Tensor Stage::backward_input(const at::Tensor& dy_MD, const Tokens& tokens, StageResult& result) const {
  at::Tensor d_MD = dy_MD;
  for (std::size_t i = segments_.size(); i-- > 0;) {
    d_MD = segments_[i]->backward_input(segment_parameters(i), d_MD, tokens, *result.saved[i]);
  }
  return d_MD;
}

void Stage::backward_weight(const at::Tensor& leaf, const Tokens& tokens, StageResult& result) const {
  for (std::size_t i = segments_.size(); i-- > 0;) {
    segments_[i]->backward_weight(buffer(leaf, i, layout_.tied_use), tokens, *result.saved[i]);
    result.saved[i].reset();
  }
}

void initialise(Stage& stage, std::uint64_t seed, double init_std) {
  const at::Tensor host = at::empty({stage.layout().parameter_elements}, at::kFloat);
  for (const Slot& slot : stage.layout().slots) {
    float* out = host.data_ptr<float>() + slot.offset;
    const std::int64_t count = slot.info.elements();
    if (slot.info.init == ParameterInfo::Init::ones) {
      std::fill(out, out + count, 1.0f);
      continue;
    }
    base::Philox(seed, slot.info.name).fill_normal(0, count, out);
    const float scale = static_cast<float>(init_std);
    for (std::int64_t i = 0; i < count; ++i) out[i] *= scale;
  }
  stage.parameters().copy_(host);
}

}  // namespace troika::model
