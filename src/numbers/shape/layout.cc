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

ParameterInfo matrix(const std::string& name, std::int64_t rows, std::int64_t columns, double init_scale) {
  return {name, {rows, columns}, ParameterInfo::Init::normal, true, init_scale};
}

ParameterInfo table(const std::string& name, std::int64_t rows, std::int64_t columns) {
  ParameterInfo info = matrix(name, rows, columns, 1);
  info.looked_up_only = true;
  return info;
}

ParameterInfo token_table(const std::string& name, const config::ModelSettings& model) {
  ParameterInfo info = table(name, model.vocab, model.hidden);
  info.looked_up_only = !model.tie_embeddings;
  return info;
}

ParameterInfo gain(const std::string& name, std::int64_t width) {
  return {name, {width}, ParameterInfo::Init::ones, false};
}

ParameterInfo bias(const std::string& name, std::int64_t width) {
  return {name, {width}, ParameterInfo::Init::zeros, false};
}

LayoutBuilder::LayoutBuilder(const config::ModelSettings& model, int segment, const TensorShare& share)
    : share_(share),
      widths_(local_widths(model, share)),
      heads_(model.heads),
      kv_heads_(model.kv_heads),
      head_dim_(model.head_dim),
      in_one_piece_(share.size > 1 && segment > 0 && segment <= model.layers) {
  layout_.segment = segment;
}

void LayoutBuilder::end_piece() {
  const std::int64_t piece = layout_.elements - piece_begin_;
  bool in_parts = false;
  for (auto slot = layout_.slots.rbegin(); slot != layout_.slots.rend() && slot->offset >= piece_begin_; ++slot)
    in_parts = in_parts || slot->found_in_parts();
  const bool by_rows = layout_.segment == 0;
  if (!by_rows) note_piece(piece, in_one_piece_ && in_parts ? piece : 0);
  piece_begin_ = layout_.elements;
}

void LayoutBuilder::note_piece(std::int64_t piece, std::int64_t held) {
  const auto note = [this](std::int64_t elements, std::int64_t* largest) {
    *largest = in_one_piece_ ? *largest + elements : std::max(*largest, elements);
  };
  note(piece, &layout_.largest_piece);
  note(held, &layout_.largest_held_piece);
}

SegmentLayout LayoutBuilder::take() {
  end_piece();
  return std::move(layout_);
}

void LayoutBuilder::everywhere(const ParameterInfo& info, Found found) {
  add(info, {0, info.elements(), info.elements(), 1}, found, 0, share_.size);
}

void LayoutBuilder::rows(const ParameterInfo& info, const Range& rows, std::int64_t unit) {
  rows_of_heads(info, rows, unit, share_.rank, share_.rank + 1);
}

void LayoutBuilder::rows_of_heads(const ParameterInfo& info, const Range& heads, std::int64_t unit, int first_holder,
                                  int end_holder) {
  const std::int64_t row = unit * info.elements() / info.shape[0], elements = heads.count * row;
  add(info, {heads.begin * row, elements, elements, 1}, Found::of_own_heads, first_holder, end_holder);
}

int LayoutBuilder::holder_of_head(std::int64_t head) const {
  int rank = 0;
  while (part_of(heads_, rank, share_.size).end() <= head) ++rank;
  return rank;
}

// The tp ranks whose query heads read this key/value head: [first, end).
std::pair<int, int> LayoutBuilder::holders_of_key(std::int64_t kv_head) const {
  const std::int64_t group = heads_ / kv_heads_;
  return {holder_of_head(kv_head * group), holder_of_head(kv_head * group + group - 1) + 1};
}

void LayoutBuilder::key_rows(const ParameterInfo& info) {
  for (std::int64_t begin = widths_.kv_heads.begin; begin < widths_.kv_heads.end();) {
    const auto mine = holders_of_key(begin);
    std::int64_t end = begin + 1;
    while (end < widths_.kv_heads.end() && holders_of_key(end) == mine) ++end;
    rows_of_heads(info, {begin, end - begin}, head_dim_, mine.first, mine.second);
    begin = end;
  }
}

// Parts of all rows are equally far apart, so they are the runs of one region.
void LayoutBuilder::columns(const ParameterInfo& info, const Range& columns, std::int64_t unit, std::int64_t groups) {
  const std::int64_t stride = info.shape.back() / groups;
  add(info, {columns.begin * unit, columns.count * unit, stride, info.elements() / stride}, Found::whole, share_.rank,
      share_.rank + 1);
}

void LayoutBuilder::add(const ParameterInfo& info, const Region& region, Found found, int first_holder,
                        int end_holder) {
  layout_.slots.push_back({info, joined(region), layout_.elements, first_holder, end_holder, found});
  layout_.elements += region.elements();
}

std::int64_t rows_of_table_piece(std::int64_t width) {
  constexpr std::int64_t elements = std::int64_t{1} << 21;
  return std::max<std::int64_t>(1, elements / width);
}

void LayoutBuilder::vocabulary(const ParameterInfo& info) {
  end_piece();
  rows(info, widths_.vocab);
  piece_begin_ = layout_.elements;
  const std::int64_t width = info.shape.back(), count = std::min(widths_.vocab.count, rows_of_table_piece(width));
  note_piece(count * width, 0);
}

void LayoutBuilder::norm_and_tables(const std::vector<ParameterInfo>& infos) {
  for (const ParameterInfo& info : infos) {
    if (info.shape.size() == 1) everywhere(info, Found::of_own_rows);
    if (info.shape.size() == 2) vocabulary(info);
  }
}

}  // namespace troika::shape
