#include "shape/layout.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "shape/architecture.h"
#include "shape/layout_builder.h"

namespace troika::shape {

std::int64_t ParameterInfo::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

int segment_count(const config::ModelSettings& model) { return static_cast<int>(model.layers) + 2; }

std::vector<ParameterInfo> segment_parameters(const config::ModelSettings& model, int segment) {
  return architecture_of(model).parameters(model, segment);
}

std::vector<ParameterInfo> all_parameters(const config::ModelSettings& model) {
  std::vector<ParameterInfo> all;
  for (int segment = 0; segment < segment_count(model); ++segment) {
    for (auto& info : segment_parameters(model, segment)) all.push_back(std::move(info));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

std::int64_t parameter_count(const config::ModelSettings& model) {
  std::int64_t count = 0;
  for (const auto& info : all_parameters(model)) count += info.elements();
  return count;
}

LocalWidths local_widths(const config::ModelSettings& model, const TensorShare& share) {
  if (share.size > 1 && share.size > std::min({model.heads, model.ffn, model.vocab}))
    throw base::ConfigError(base::say("tensor parallelism over {} ranks needs at least as many query heads, feed-forward columns and vocabulary tokens; the model has {}, {} and {}", share.size, model.heads, model.ffn, model.vocab));
  LocalWidths widths;
  widths.heads = part_of(model.heads, share.rank, share.size);
  const std::int64_t group = model.heads / model.kv_heads, first = widths.heads.begin / group;
  widths.kv_heads = {first, (widths.heads.end() - 1) / group + 1 - first};
  widths.ffn = part_of(model.ffn, share.rank, share.size);
  widths.vocab = part_of(model.vocab, share.rank, share.size);
  return widths;
}

std::vector<std::int64_t> kv_of_head(const config::ModelSettings& model, const LocalWidths& local) {
  const std::int64_t group = model.heads / model.kv_heads;
  std::vector<std::int64_t> kv;
  for (std::int64_t head = local.heads.begin; head < local.heads.end(); ++head) kv.push_back(head / group - local.kv_heads.begin);
  return kv;
}

std::vector<std::int64_t> local_shape(const Slot& slot) {
  if (slot.info.shape.size() == 1) return {slot.elements()};
  if (slot.region.count > 1) return {slot.info.shape[0], slot.elements() / slot.info.shape[0]};
  return {slot.elements() / slot.info.shape[1], slot.info.shape[1]};
}

SegmentLayout segment_layout(const config::ModelSettings& model, int segment, const TensorShare& share) {
  LayoutBuilder builder(model, segment, share);
  architecture_of(model).split(builder, model, segment);
  return builder.take();
}

SegmentLayout tied_layout(const config::ModelSettings& model, const TensorShare& share) {
  return segment_layout(model, 0, share);
}

std::string hugging_face_config(const config::ModelSettings& model) {
  return architecture_of(model).hugging_face_config(model);
}

}  // namespace troika::shape
