// Which elements of each parameter a tensor-parallel rank holds, and where.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/architecture.h"
#include "model/layout_builder.h"

namespace troika::model {

LocalWidths local_widths(const config::ModelSettings& model, const TensorShare& share) {
  using sharding::part_of;
  if (share.size > 1 && share.size > std::min({model.heads, model.ffn, model.vocab}))
    throw base::ConfigError(
        fmt::format("tensor parallelism of {} ranks needs as many query heads, feed-forward columns and tokens in the "
                    "vocabulary; the model has {}, {} and {}",
                    share.size, model.heads, model.ffn, model.vocab));
  LocalWidths widths;
  widths.heads = part_of(model.heads, share.rank, share.size);
  const std::int64_t group = model.heads / model.kv_heads, first = widths.heads.begin / group;
  widths.kv_heads = {first, (widths.heads.end() - 1) / group + 1 - first};
  widths.ffn = part_of(model.ffn, share.rank, share.size);
  widths.vocab = part_of(model.vocab, share.rank, share.size);
  return widths;
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

}  // namespace troika::model
