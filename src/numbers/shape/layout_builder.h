// Puts a segment's layout together, slot by slot, for one tp rank; and the kinds of parameters.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shape/layout.h"

namespace troika::shape {

ParameterInfo matrix(const std::string& name, std::int64_t rows, std::int64_t columns, double init_scale = 1);
// A matrix whose rows are only looked up.
ParameterInfo table(const std::string& name, std::int64_t rows, std::int64_t columns);
// The embedding's table, which the head of a tied model multiplies by as well.
ParameterInfo token_table(const std::string& name, const config::ModelSettings& model);
ParameterInfo gain(const std::string& name, std::int64_t width);  // of a norm
ParameterInfo bias(const std::string& name, std::int64_t width);

class LayoutBuilder {
 public:
  LayoutBuilder(const config::ModelSettings& model, int segment, const TensorShare& share);

  const TensorShare& share() const { return share_; }
  const LocalWidths& widths() const { return widths_; }

  void everywhere(const ParameterInfo& info, Found found);
  // Rows [rows.begin, rows.end), in units of `unit` rows; elements of a vector.
  void rows(const ParameterInfo& info, const Range& rows, std::int64_t unit = 1);
  void rows_of_heads(const ParameterInfo& info, const Range& heads, std::int64_t unit, int first_holder,
                     int end_holder);
  // Rows, head_dim each, of the key/value heads: a slot for each run of them with the same holders.
  void key_rows(const ParameterInfo& info);
  // The same columns, or elements of a vector, of each of `groups` equal parts side by side.
  void columns(const ParameterInfo& info, const Range& columns, std::int64_t unit = 1, std::int64_t groups = 1);

  // The tensors of the head or a plain embedding: vectors on all ranks, tables split by rows of the vocabulary.
  void norm_and_tables(const std::vector<ParameterInfo>& infos);

  // A table of this rank's rows of the vocabulary. As a head writes its gradient, in pieces of rows_of_table_piece.
  void vocabulary(const ParameterInfo& info);

  // The gradient of what was added since the last call is one piece. A block of a tensor-parallel rank is one whole, because
  // what several ranks hold is summed at once. The embedding's has none: it is written by rows.
  void end_piece();

  SegmentLayout take();

 private:
  void note_piece(std::int64_t piece, std::int64_t held);
  void add(const ParameterInfo& info, const Region& region, Found found, int first_holder, int end_holder);

  int holder_of_head(std::int64_t head) const;
  std::pair<int, int> holders_of_key(std::int64_t kv_head) const;

  const TensorShare share_;
  const LocalWidths widths_;
  const std::int64_t heads_, kv_heads_, head_dim_;  // of the model
  const bool in_one_piece_;
  std::int64_t piece_begin_ = 0;
  SegmentLayout layout_;
};

}  // namespace troika::shape
