#include "sharding/own_leaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/flat.h"
#include "tensor/operations.h"

namespace troika::sharding {
using kernels::Into;
using kernels::Largest;
using shape::Range;
using shape::Reduction;

OwnLeaves::OwnLeaves(const shape::ShardPlan& plan, const shape::SumShape& shape, const tensor::Device& device,
                     Allocate allocate)
    : plan_(plan), shape_(shape), device_(device), allocate_(std::move(allocate)) {
  reset();
}

void OwnLeaves::begin_step(const std::vector<int>& shifts) {
  shifts_ = shifts;
  largest_ =
      tensor::zeros({static_cast<std::int64_t>(plan_.parts())}, tensor::TensorType(tensor::Dtype::int32, device_));
}

bool OwnLeaves::add_in_floats() const { return shape_.adds_in_floats(shape_.place.index()); }
bool OwnLeaves::are_floats() const { return shape_.shares_floats(shape_.place.index()); }

// The leaf itself is what is taken, or becomes the sum.
bool OwnLeaves::writes_in_place() const {
  return shape_.reduction == Reduction::each_leaf || (add_in_floats() && pushed_ == 0);
}

// Checks that the piece follows what was opened of its parameters.
void OwnLeaves::begin_piece(const Range& range) {
  if (pushed_ == shape_.own_leaves())
    throw base::BugError(fmt::format("a gradient is written after all {} of a step", shape_.own_leaves()));
  if (leaf_waits_ || shifts_.size() != plan_.parts()) {
    throw base::BugError(
        fmt::format("gradient {} of {} of a step is written before the last one was shared out, or "
                    "before the step begins",
                    pushed_ + 1, shape_.own_leaves()));
  }
  plan_.visit_parts(range, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    const std::int64_t of_part = range.begin + begin - plan_.part(part).begin;
    if (of_part != opened_[part]) {
      throw base::BugError(fmt::format(
          "a piece of a gradient begins at element {} of a parameter of which {} are written", of_part, opened_[part]));
    }
    opened_[part] += count;
  });
}

tensor::Tensor OwnLeaves::open(const Range& range) {
  begin_piece(range);
  if (writes_in_place() && !floats_.defined()) floats_ = allocate_(plan_.elements(), tensor::Dtype::fp32);
  open_.push_back({range, writes_in_place() ? floats_.narrow(0, range.begin, range.count)
                                            : allocate_(range.count, tensor::Dtype::fp32)});
  return open_.back().elements;
}

// Behind the first leaf the sum has all elements.
tensor::Destination OwnLeaves::open_sum(const Range& range) {
  if (shape_.addition == shape::Addition::integers || writes_in_place()) return {open(range)};
  begin_piece(range);
  open_.push_back({range, {}});
  return {floats_.narrow(0, range.begin, range.count), tensor::Sum::added};
}

void OwnLeaves::close() {
  for (const Piece& piece : open_) {
    if (piece.elements.defined()) add(piece);
    note_in_sum(piece.range);
  }
  open_.clear();
}

void OwnLeaves::add(const Piece& piece) {
  if (!add_in_floats()) return add_on_grid(piece);
  if (are_floats() && !shape_.in_floats()) round(piece);
  if (!writes_in_place()) kernels::add_into(floats_.narrow(0, piece.range.begin, piece.range.count), piece.elements);
}

void OwnLeaves::round(const Piece& piece) {
  kernels::round_to_grid(piece.elements, grid_stretches(plan_, piece.range, shifts_), largest_of(piece.range));
}

void OwnLeaves::make_integers() {
  for (int replica = static_cast<int>(integers_.size()); replica < shape_.place.count(); ++replica)
    integers_.push_back(allocate_(plan_.elements_of(replica).count, tensor::Dtype::int64));
}

// Whether the sum has these elements already.
Into OwnLeaves::into(const Range& range) const {
  bool fresh = false, sum = false;
  plan_.visit_parts(range, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    const std::int64_t of_part = range.begin + begin - plan_.part(part).begin, end = of_part + count;
    fresh = fresh || end > in_sum_[part];
    sum = sum || of_part < in_sum_[part];
  });
  if (fresh && sum) throw base::BugError("the leaves of a gradient are written in different pieces");
  return fresh ? Into::fresh : Into::sum;
}

Largest OwnLeaves::largest_of(const Range& range) const {
  std::int64_t first = 0, parts = 0;
  plan_.visit_parts(range, [&](std::size_t part, std::int64_t, std::int64_t) {
    if (parts++ == 0) first = static_cast<std::int64_t>(part);
  });
  return largest_.narrow(0, first, parts);
}

void OwnLeaves::note_in_sum(const Range& range) {
  plan_.visit_parts(range, [&](std::size_t part, std::int64_t begin, std::int64_t count) {
    const std::int64_t end = range.begin + begin + count - plan_.part(part).begin;
    in_sum_[part] = std::max(in_sum_[part], end);
  });
}

void OwnLeaves::add_on_grid(const Piece& piece) {
  make_integers();
  for (int replica = 0; replica < shape_.place.count(); ++replica) {
    const Range range = plan_.elements_of(replica), here = shape::common(range, piece.range);
    if (here.count == 0) continue;
    const tensor::Tensor sum =
        integers_[static_cast<std::size_t>(replica)].narrow(0, here.begin - range.begin, here.count);
    const tensor::Tensor leaf = piece.elements.narrow(0, here.begin - piece.range.begin, here.count);
    kernels::add_on_grid(sum, leaf, grid_stretches(plan_, here, shifts_), into(here), largest_of(here));
  }
}

void OwnLeaves::write(const Range& range, const tensor::Tensor& x) {
  if (writes_in_place()) return LeafWriter::write(range, x);
  begin_piece(range);
  add({range, x.flatten()});
  note_in_sum(range);
}

void OwnLeaves::write_rows(const Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD) {
  if (writes_in_place() || are_all_rows(parameter, x_rD)) return LeafWriter::write_rows(parameter, row_r, x_rD);
  begin_piece(parameter);
  if (add_in_floats()) {
    tensor::add_rows(floats_.narrow(0, parameter.begin, parameter.count).view({-1, x_rD.size(1)}), row_r, x_rD);
  } else {
    add_rows(parameter, row_r, x_rD);
  }
}

void OwnLeaves::add_rows(const Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD) {
  make_integers();
  plan_.visit_parts(parameter, [&](std::size_t part, std::int64_t, std::int64_t) {
    if (plan_.part(part).begin != parameter.begin || plan_.part(part).count != parameter.count)
      throw base::BugError("rows of a gradient that are not those of one parameter");
    clear_rest_of_sum(part);
    for (int replica = 0; replica < shape_.place.count(); ++replica) {
      const Range range = plan_.elements_of(replica), here = shape::common(range, parameter);
      if (here.count == 0) continue;
      const tensor::Tensor& sum = integers_[static_cast<std::size_t>(replica)];
      kernels::add_rows_on_grid({sum.narrow(0, here.begin - range.begin, here.count), here.begin - parameter.begin},
                                row_r, x_rD, shifts_[part], largest_of(plan_.part(part)));
    }
  });
}

// Clears the rest, which no leaf has covered yet.
void OwnLeaves::clear_rest_of_sum(std::size_t part) {
  const Range of_part = plan_.part(part);
  const Range rest{of_part.begin + in_sum_[part], of_part.count - in_sum_[part]};
  if (rest.count == 0) return;
  if (floats_.defined()) floats_.narrow(0, rest.begin, rest.count).zero();
  for (std::size_t replica = 0; replica < integers_.size(); ++replica) {
    const Range range = plan_.elements_of(static_cast<int>(replica)), here = shape::common(range, rest);
    if (here.count > 0) integers_[replica].narrow(0, here.begin - range.begin, here.count).zero();
  }
  in_sum_[part] = of_part.count;
}

void OwnLeaves::push() {
  const bool written = std::any_of(opened_.begin(), opened_.end(), [](std::int64_t elements) { return elements > 0; });
  if (!open_.empty() || !written) {
    throw base::BugError(fmt::format("gradient {} of {} of a step was not written", pushed_ + 1, shape_.own_leaves()));
  }
  for (std::size_t part = 0; part < plan_.parts(); ++part) clear_rest_of_sum(part);
  opened_.assign(plan_.parts(), 0);
  leaf_waits_ = shape_.reduction == Reduction::each_leaf;
  if (leaf_waits_) in_sum_.assign(plan_.parts(), 0);
  ++pushed_;
}

void OwnLeaves::push_nothing() {
  begin_piece({0, plan_.elements()});
  if (!writes_in_place() && !add_in_floats()) {
    make_integers();
  } else if (!floats_.defined()) {
    floats_ = allocate_(plan_.elements(), tensor::Dtype::fp32);
  }
  push();
}

void OwnLeaves::check_complete() const {
  const bool each_leaf = shape_.reduction == Reduction::each_leaf;
  if (each_leaf ? !leaf_waits_ : pushed_ != shape_.own_leaves()) {
    throw base::BugError(
        fmt::format("gradients are shared out after {} of {} of a step", pushed_, shape_.own_leaves()));
  }
}

tensor::Tensor OwnLeaves::take_floats() {
  check_complete();
  leaf_waits_ = false;
  return std::exchange(floats_, tensor::Tensor());
}

std::vector<tensor::Tensor> OwnLeaves::take_integers() {
  check_complete();
  leaf_waits_ = false;
  if (add_in_floats()) {
    in_sum_.assign(plan_.parts(), 0);
    add_on_grid({{0, plan_.elements()}, std::exchange(floats_, tensor::Tensor())});
  }
  return std::exchange(integers_, {});
}

void OwnLeaves::reset() {
  open_.clear();
  floats_.reset();
  integers_.clear();
  opened_.assign(plan_.parts(), 0);
  in_sum_.assign(plan_.parts(), 0);
  pushed_ = 0;
  leaf_waits_ = false;
}

}  // namespace troika::sharding
