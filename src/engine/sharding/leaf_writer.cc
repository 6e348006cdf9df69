#include "sharding/leaf_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::sharding {
using shape::Range;

void LeafWriter::write(const Range& range, const tensor::Tensor& x) {
  open(range).copy_from(x.flatten());
  close();
}

void LeafWriter::write_rows(const Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD) {
  if (are_all_rows(parameter, x_rD)) return write(parameter, x_rD);
  tensor::set_rows(open(parameter).zero().view({-1, x_rD.size(1)}), row_r, x_rD);
  close();
}

tensor::Tensor FlatLeaf::open(const Range& range) {
  pieces_.push_back(range);
  return flat_.narrow(0, range.begin, range.count);
}

void FlatLeaf::finish() {
  std::vector<Range> written = pieces_;
  std::sort(written.begin(), written.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  written.push_back({flat_.elements(), 0});
  std::int64_t end = 0;
  for (const Range& piece : written) {
    flat_.narrow(0, end, piece.begin - end).zero();
    end = piece.end();
  }
}

tensor::Tensor HeldLeaf::open(const Range& range) {
  pieces_.push_back({range, writer_.open(range)});
  return pieces_.back().elements;
}

bool HeldLeaf::holds(const Range& range) const {
  return std::any_of(layout_.slots.begin(), layout_.slots.end(), [&](const shape::Slot& slot) {
    return slot.found_in_parts() && shape::common({slot.offset, slot.elements()}, range).count > 0;
  });
}

tensor::Destination HeldLeaf::open_sum(const Range& range) {
  return holds(range) ? LeafWriter::open_sum(range) : writer_.open_sum(range);
}

void HeldLeaf::write(const Range& range, const tensor::Tensor& x) {
  if (!holds(range)) return writer_.write(range, x);
  LeafWriter::write(range, x);
}

tensor::Tensor HeldLeaf::elements(const Range& range) const {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.range.begin <= range.begin && range.end() <= piece.range.end();
  });
  if (found == pieces_.end())
    throw base::BugError(fmt::format("no piece of a gradient has the elements {} to {}", range.begin, range.end()));
  return found->elements.narrow(0, range.begin - found->range.begin, range.count);
}

void HeldLeaf::close_all() {
  pieces_.clear();
  writer_.close();
}

}  // namespace troika::sharding
