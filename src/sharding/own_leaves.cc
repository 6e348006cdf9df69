#include "sharding/own_leaves.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/flat.h"

namespace troika::sharding {
using kernels::Into;
using shape::Range;
using shape::Reduction;

OwnLeaves::OwnLeaves(const shape::ShardPlan& plan, const shape::SumShape& shape, Allocate allocate)
    : plan_(plan), shape_(shape), allocate_(std::move(allocate)) {
  reset();
}

void OwnLeaves::begin_step(const std::vector<int>& shifts) {
  shifts_ = shifts;
  largest_.assign(plan_.parts(), 0);
}

bool OwnLeaves::are_floats() const {
  return shape_.reduction == Reduction::each_leaf || shape_.shares_floats(shape_.place.index());
}

// The leaf itself is what is taken, or becomes the sum.
bool OwnLeaves::writes_in_place() const {
  return shape_.reduction == Reduction::each_leaf || (are_floats() && pushed_ == 0);
}

bool OwnLeaves::is_whole_parts(const Range& range) const {
  bool begins = false, ends = false;
  for (std::size_t part = 0; part < plan_.parts(); ++part) {
    begins = begins || plan_.part(part).begin == range.begin;
    ends = ends || plan_.part(part).end() == range.end();
  }
  return begins && ends;
}

at::Tensor OwnLeaves::open(const Range& range) {
  if (pushed_ == shape_.own_leaves())
    throw base::BugError(fmt::format("a gradient is written after all {} of a step", shape_.own_leaves()));
  if (leaf_waits_ || shifts_.size() != plan_.parts()) {
    throw base::BugError(
        fmt::format("gradient {} of {} of a step is written before the last one was shared out, or "
                    "before the step begins",
                    pushed_ + 1, shape_.own_leaves()));
  }
  if (!is_whole_parts(range)) {
    throw base::BugError(fmt::format("a piece of a gradient from element {} to {} is not one of whole parameters",
                                     range.begin, range.end()));
  }
  if (writes_in_place() && !floats_.defined()) floats_ = allocate_(plan_.elements(), at::kFloat);
  open_.push_back(
      {range, writes_in_place() ? floats_.narrow(0, range.begin, range.count) : allocate_(range.count, at::kFloat)});
  return open_.back().elements;
}

void OwnLeaves::close() {
  piece_written_ = piece_written_ || !open_.empty();
  for (const Piece& piece : open_) {
    add(piece);
    plan_.visit_parts(piece.range, [&](std::size_t part, std::int64_t, std::int64_t) { written_[part] = true; });
  }
  open_.clear();
}

void OwnLeaves::add(const Piece& piece) {
  if (!are_floats()) return add_on_grid(piece);
  if (!shape_.in_floats()) round(piece);
  if (!writes_in_place()) kernels::add_into(floats_.narrow(0, piece.range.begin, piece.range.count), piece.elements);
}

void OwnLeaves::round(const Piece& piece) {
  plan_.visit_parts(piece.range, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    largest_[part] =
        std::max(largest_[part], kernels::round_to_grid(piece.elements.narrow(0, begin, count), shifts_[part]));
  });
}

void OwnLeaves::add_on_grid(const Piece& piece) {
  for (int replica = 0; replica < shape_.place.count(); ++replica) {
    const Range range = plan_.elements_of(replica), here = shape::common(range, piece.range);
    const auto index = static_cast<std::size_t>(replica);
    if (integers_.size() == index) integers_.push_back(allocate_(range.count, at::kLong));
    if (here.count == 0) continue;
    const at::Tensor sum = integers_[index].narrow(0, here.begin - range.begin, here.count);
    const at::Tensor leaf = piece.elements.narrow(0, here.begin - piece.range.begin, here.count);
    plan_.visit_parts(here, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
      const auto largest = kernels::add_on_grid(sum.narrow(0, begin, count), leaf.narrow(0, begin, count),
                                                shifts_[part], written_[part] ? Into::sum : Into::fresh);
      largest_[part] = std::max(largest_[part], largest);
    });
  }
}

// What no piece of a first leaf covered.
void OwnLeaves::clear_unwritten() {
  for (std::size_t part = 0; part < plan_.parts(); ++part) {
    if (written_[part]) continue;
    const Range of_part = plan_.part(part);
    if (floats_.defined()) floats_.narrow(0, of_part.begin, of_part.count).zero_();
    for (std::size_t replica = 0; replica < integers_.size(); ++replica) {
      const Range range = plan_.elements_of(static_cast<int>(replica)), here = shape::common(range, of_part);
      integers_[replica].narrow(0, here.begin - range.begin, here.count).zero_();
    }
  }
}

void OwnLeaves::push() {
  if (!open_.empty() || !piece_written_) {
    throw base::BugError(fmt::format("gradient {} of {} of a step was not written", pushed_ + 1, shape_.own_leaves()));
  }
  clear_unwritten();
  const bool each_leaf = shape_.reduction == Reduction::each_leaf;
  written_.assign(plan_.parts(), !each_leaf);
  leaf_waits_ = each_leaf;
  piece_written_ = false;
  ++pushed_;
}

void OwnLeaves::check_complete() const {
  const bool each_leaf = shape_.reduction == Reduction::each_leaf;
  if (each_leaf ? !leaf_waits_ : pushed_ != shape_.own_leaves()) {
    throw base::BugError(
        fmt::format("gradients are shared out after {} of {} of a step", pushed_, shape_.own_leaves()));
  }
}

at::Tensor OwnLeaves::take_floats() {
  check_complete();
  leaf_waits_ = false;
  return std::exchange(floats_, at::Tensor());
}

std::vector<at::Tensor> OwnLeaves::take_integers() {
  check_complete();
  return std::exchange(integers_, {});
}

void OwnLeaves::reset() {
  open_.clear();
  floats_.reset();
  integers_.clear();
  written_.assign(plan_.parts(), false);
  pushed_ = 0;
  leaf_waits_ = piece_written_ = false;
}

}  // namespace troika::sharding
