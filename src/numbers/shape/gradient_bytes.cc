#include "shape/gradient_bytes.h"

#include <algorithm>

namespace troika::shape {
namespace {

constexpr std::int64_t float_bytes = 4, integer_bytes = 8;

std::int64_t bytes_of(bool floats) { return floats ? float_bytes : integer_bytes; }

std::int64_t buffer_bytes(const SumShape& shape, std::int64_t integers) {
  return integer_bytes * buffer_words(shape.travel, integers);
}

// The buffer of a range of so many elements of what a replica shares out, and the message.
std::int64_t buffer_bytes(const SumShape& shape, int replica, std::int64_t elements) {
  return shape.shares_floats(replica) ? float_bytes * elements : buffer_bytes(shape, elements);
}
std::int64_t message_bytes(const SumShape& shape, int replica, std::int64_t elements) {
  return shape.shares_floats(replica) ? float_bytes * elements : integer_bytes * message_words(shape.travel, elements);
}

// The ranges of the replicas other than the one at shape.place, from its right-hand neighbour on.
std::vector<std::int64_t> other_ranges(const ShardPlan& plan, const ReplicaPlace& place) {
  std::vector<std::int64_t> elements;
  for (int i = 1; i < place.count(); ++i)
    elements.push_back(plan.elements_of((place.index() + i) % place.count()).count);
  return elements;
}

}  // namespace

GradientBytes::GradientBytes(const ShardPlan& plan, const SumShape& shape, std::int64_t largest_piece)
    : shape_(shape),
      elements_(plan.elements()),
      own_(plan.elements_of(shape.place.index()).count),
      largest_piece_(largest_piece),
      others_(other_ranges(plan, shape.place)) {}

std::int64_t GradientBytes::held() const {
  const std::int64_t leaves = (leaf_ ? 1 : 0) + (sending_ ? 1 : 0) + (whole_ ? 1 : 0);
  const std::int64_t of_range = range_ + (total_ ? float_bytes : 0);
  return (piece_ ? float_bytes * largest_piece_ : 0) + elements_ * (leaves * float_bytes + sum_) + own_ * of_range +
         packed_ + incoming_ + crossing_ + block_;
}

bool GradientBytes::stays_in_place() const {
  return shape_.place.count() > 1 && shape_.sums_in_place() && shape_.result == Result::whole;
}

// On the way to their owners.
bool GradientBytes::adds_integers() const { return shape_.travel == Travel::added && !shape_.in_floats(); }

// The first leaf of those that are added in fp32 becomes the sum.
void GradientBytes::open() {
  piece_ = shape_.reduction == Reduction::at_end && (sum_ > 0 || !shape_.adds_in_floats(shape_.place.index()));
  open_rows();
}

void GradientBytes::open_rows() {
  if (shape_.reduction == Reduction::each_leaf) {
    leaf_ = true;
  } else if (shape_.adds_in_floats(shape_.place.index())) {
    sum_ = float_bytes;
  } else {
    converts_ = true;
  }
}

void GradientBytes::make_sum() {
  if (converts_ && sum_ == 0) sum_ = integer_bytes;
}

void GradientBytes::close() { piece_ = converts_ = false; }

void GradientBytes::pack() {
  if (adds_integers()) {
    if (leaf_ || sum_ == float_bytes) packed_ = integer_bytes * elements_;
    return;
  }
  if (shape_.shares_floats(shape_.place.index()) || shape_.travel == Travel::plain) return;
  std::int64_t now = 0;
  for (const std::int64_t elements : others_) {
    now += buffer_bytes(shape_, elements);
    packed_ = std::max(packed_, now);
    now -= integer_bytes * elements;
  }
}

void GradientBytes::start_reduce() {
  reducing_ = true;
  if (shape_.place.count() == 1) return;
  if (adds_integers()) {
    leaf_ = false;
    sum_ = packed_ = 0;
    incoming_ = integer_bytes * elements_;
    return;
  }
  if (shape_.reduction == Reduction::each_leaf) {
    sending_ = true;
    leaf_ = false;
    range_ = bytes_of(shape_.in_floats());
    if (shape_.travel == Travel::added) return;
    const std::int64_t beside = shape_.receives == Receives::together ? shape_.place.count() - 2 : 0;
    incoming_ = float_bytes * own_ * beside;
    return;
  }
  if (!shape_.shares_floats(shape_.place.index())) {
    sum_ = packed_ = 0;
    for (const std::int64_t elements : others_) packed_ += buffer_bytes(shape_, elements);
    range_ = integer_bytes;
  } else if (!shape_.sums_in_place()) {
    range_ = bytes_of(shape_.in_floats());
  }
  for (int r = 0; r < shape_.place.count() && shape_.travel != Travel::added; ++r) {
    if (r != shape_.place.index()) incoming_ += buffer_bytes(shape_, r, own_);
  }
}

void GradientBytes::add_up() {
  if (shape_.place.count() > 1 && shape_.sums_in_place() && !shape_.in_floats())
    block_ = integer_bytes * std::min(own_, sum_block(shape_.travel));
}

void GradientBytes::make_range() {
  packed_ = incoming_ = block_ = 0;
  if (shape_.place.count() == 1 || stays_in_place()) return;
  range_ = bytes_of(shape_.ends_in_floats());
}

void GradientBytes::finish_reduce() {
  reducing_ = false;
  sending_ = false;
  if (shape_.place.count() == 1) range_ = sum_;
  if (!stays_in_place()) sum_ = 0;
}

void GradientBytes::receive_other() {
  crossing_ = shape_.in_floats()                ? float_bytes * own_
              : shape_.travel == Travel::packed ? 2 * buffer_bytes(shape_, own_)
                                                : integer_bytes * own_;
}

void GradientBytes::include_other() { crossing_ = 0; }

void GradientBytes::make_total() {
  if (range_ == integer_bytes) total_ = true;
}

void GradientBytes::total() {
  if (total_) range_ = 0;
}

void GradientBytes::make_whole() {
  whole_ = true;
  sum_ = 0;
}
void GradientBytes::start_gather() { range_ = 0; }

void GradientBytes::reset() {
  piece_ = converts_ = leaf_ = sending_ = reducing_ = total_ = whole_ = false;
  sum_ = range_ = packed_ = incoming_ = crossing_ = block_ = 0;
}

std::int64_t reduce_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  std::int64_t bytes = 0;
  for (const std::int64_t elements : other_ranges(plan, shape.place))
    bytes += message_bytes(shape, shape.place.index(), elements);
  return bytes;
}

std::int64_t gather_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  return float_bytes * plan.elements_of(shape.place.index()).count * (shape.place.count() - 1);
}

std::int64_t tied_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  const std::int64_t own = plan.elements_of(shape.place.index()).count;
  return shape.in_floats() ? float_bytes * own : integer_bytes * message_words(shape.travel, own);
}

}  // namespace troika::shape
