#include "shape/gradient_bytes.h"

namespace troika::shape {
namespace {

constexpr std::int64_t float_bytes = 4, integer_bytes = 8;

std::int64_t bytes_of(bool floats) { return floats ? float_bytes : integer_bytes; }

// What a rank shares out in one reduction, by element.
std::int64_t shared_bytes(const SumShape& shape, int replica) {
  return bytes_of(shape.reduction == Reduction::each_leaf || shape.shares_floats(replica));
}

// Of the ranges of all other replicas, by element of one range.
std::int64_t incoming_bytes(const SumShape& shape) {
  std::int64_t sum = 0;
  for (int r = 0; r < shape.place.count(); ++r) {
    if (r != shape.place.index()) sum += shared_bytes(shape, r);
  }
  return sum;
}

}  // namespace

GradientBytes::GradientBytes(std::int64_t elements, std::int64_t own, const SumShape& shape)
    : shape_(shape), elements_(elements), own_(own) {}

std::int64_t GradientBytes::held() const {
  const std::int64_t leaves = (leaf_ ? 1 : 0) + (sending_ ? 1 : 0) + (whole_ ? 1 : 0);
  const std::int64_t of_range = range_ + incoming_ + other_ + (total_ ? float_bytes : 0);
  return elements_ * (leaves * float_bytes + sum_) + own_ * of_range;
}

void GradientBytes::leaf() { leaf_ = true; }

void GradientBytes::make_sum() {
  if (shape_.reduction == Reduction::at_end && !shape_.shares_floats(shape_.place.index())) sum_ = integer_bytes;
}

void GradientBytes::push() {
  if (shape_.reduction == Reduction::each_leaf) return;
  if (shape_.shares_floats(shape_.place.index())) sum_ = float_bytes;  // the first leaf
  leaf_ = false;
}

void GradientBytes::start_reduce() {
  reducing_ = true;
  if (shape_.place.count() == 1) return;
  const bool each_leaf = shape_.reduction == Reduction::each_leaf;
  if (each_leaf) {
    sending_ = true;
    leaf_ = false;
  }
  if (each_leaf || (sum_ == float_bytes && !shape_.in_floats())) range_ = bytes_of(shape_.in_floats());
  incoming_ = incoming_bytes(shape_);
}

void GradientBytes::make_range() {
  incoming_ = 0;
  if (shape_.place.count() > 1) range_ = bytes_of(shape_.in_floats());
}

void GradientBytes::finish_reduce() {
  reducing_ = false;
  sending_ = false;
  if (shape_.place.count() == 1) range_ = sum_;
  sum_ = 0;
}

void GradientBytes::receive_other() { other_ = range_; }
void GradientBytes::include() { other_ = 0; }

void GradientBytes::make_total() {
  if (range_ == integer_bytes) total_ = true;
}

void GradientBytes::total() {
  if (total_) range_ = 0;
}

void GradientBytes::make_whole() { whole_ = true; }
void GradientBytes::start_gather() { range_ = 0; }

void GradientBytes::reset() {
  leaf_ = sending_ = reducing_ = total_ = whole_ = false;
  sum_ = range_ = incoming_ = other_ = 0;
}

std::int64_t reduce_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  if (shape.place.count() == 1) return 0;
  const std::int64_t others = plan.elements() - plan.elements_of(shape.place.index()).count;
  return others * shared_bytes(shape, shape.place.index());
}

std::int64_t gather_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  return float_bytes * plan.elements_of(shape.place.index()).count * (shape.place.count() - 1);
}

std::int64_t tied_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  return bytes_of(shape.in_floats()) * plan.elements_of(shape.place.index()).count;
}

}  // namespace troika::shape
