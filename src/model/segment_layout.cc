// Which elements of each parameter a tensor-parallel rank holds, and where.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/layout.h"

namespace troika::model {
namespace {

using sharding::part_of;
using sharding::Range;

class LayoutBuilder {
 public:
  LayoutBuilder(int segment, const TensorShare& share) : share_(share) { layout_.segment = segment; }

  void everywhere(const ParameterInfo& info) { add(info, {0, info.elements(), info.elements(), 1}, 0, share_.size); }
  // Rows [rows.begin, rows.end), in units of `unit` rows.
  void rows(const ParameterInfo& info, const Range& rows, std::int64_t unit = 1) {
    rows_of(info, rows, unit, share_.rank, share_.rank + 1);
  }
  void rows_of(const ParameterInfo& info, const Range& rows, std::int64_t unit, int first_holder, int end_holder) {
    const std::int64_t row = unit * info.shape[1], elements = rows.count * row;
    add(info, {rows.begin * row, elements, elements, 1}, first_holder, end_holder);
  }
  void columns(const ParameterInfo& info, const Range& columns, std::int64_t unit = 1) {
    const std::int64_t width = columns.count * unit;
    add(info, {columns.begin * unit, width, info.shape[1], info.shape[0]}, share_.rank, share_.rank + 1);
  }
  SegmentLayout take() { return std::move(layout_); }

 private:
  void add(const ParameterInfo& info, const sharding::Region& region, int first_holder, int end_holder) {
    layout_.slots.push_back({info, sharding::joined(region), layout_.elements, first_holder, end_holder});
    layout_.elements += region.elements();
  }

  const TensorShare share_;
  SegmentLayout layout_;
};

int holder_of_head(const config::ModelSettings& model, std::int64_t head, int size) {
  int rank = 0;
  while (part_of(model.heads, rank, size).end() <= head) ++rank;
  return rank;
}

// The tp ranks whose query heads read key/value head `head`: [first, end).
std::pair<int, int> holders(const config::ModelSettings& model, std::int64_t head, int size) {
  const std::int64_t group = model.heads / model.kv_heads;
  return {holder_of_head(model, head * group, size), holder_of_head(model, head * group + group - 1, size) + 1};
}

// The rank's key/value heads, one slot for each run of them with the same holders.
void add_kv_rows(LayoutBuilder& builder, const config::ModelSettings& model, const ParameterInfo& info,
                 const Range& kv_heads, int size) {
  for (std::int64_t begin = kv_heads.begin; begin < kv_heads.end();) {
    const auto mine = holders(model, begin, size);
    std::int64_t end = begin + 1;
    while (end < kv_heads.end() && holders(model, end, size) == mine) ++end;
    builder.rows_of(info, {begin, end - begin}, model.head_dim, mine.first, mine.second);
    begin = end;
  }
}

void add_block(LayoutBuilder& builder, const config::ModelSettings& model, const std::vector<ParameterInfo>& infos,
               const TensorShare& share) {
  const LocalWidths widths = local_widths(model, share);
  enum { norm1, q, k, v, q_norm, k_norm, o, norm2, gate, up, down };  // as segment_parameters lists them
  builder.everywhere(infos[norm1]);
  builder.rows(infos[q], widths.heads, model.head_dim);
  add_kv_rows(builder, model, infos[k], widths.kv_heads, share.size);
  add_kv_rows(builder, model, infos[v], widths.kv_heads, share.size);
  builder.everywhere(infos[q_norm]);
  builder.everywhere(infos[k_norm]);
  builder.columns(infos[o], widths.heads, model.head_dim);
  builder.everywhere(infos[norm2]);
  builder.rows(infos[gate], widths.ffn);
  builder.rows(infos[up], widths.ffn);
  builder.columns(infos[down], widths.ffn);
}

}  // namespace

LocalWidths local_widths(const config::ModelSettings& model, const TensorShare& share) {
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
  if (slot.region.count > 1) return {slot.region.count, slot.region.run};
  return {slot.elements() / slot.info.shape[1], slot.info.shape[1]};
}

SegmentLayout segment_layout(const config::ModelSettings& model, int segment, const TensorShare& share) {
  const std::vector<ParameterInfo> infos = segment_parameters(model, segment);
  LayoutBuilder builder(segment, share);
  if (segment > 0 && segment <= model.layers) {
    add_block(builder, model, infos, share);
    return builder.take();
  }
  const sharding::Range vocab = local_widths(model, share).vocab;
  for (const ParameterInfo& info : infos) {
    if (info.shape.size() == 1) builder.everywhere(info);
    if (info.shape.size() == 2) builder.rows(info, vocab);
  }
  return builder.take();
}

SegmentLayout tied_layout(const config::ModelSettings& model, const TensorShare& share) {
  return segment_layout(model, 0, share);
}

}  // namespace troika::model
