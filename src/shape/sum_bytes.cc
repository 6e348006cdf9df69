#include "shape/sum_bytes.h"

#include <algorithm>

namespace troika::shape {

static constexpr std::int64_t element_bytes = 4;

SumBytes::SumBytes(std::int64_t elements, std::int64_t own, const SumShape& shape)
    : shape_(shape), elements_(elements), own_(own) {}

void SumBytes::push() {
  if (shape_.sharing == Sharing::every_round) {
    ++leaves_;
  } else {
    const std::int64_t begin = shape_.share() * shape_.place.index();
    const auto partials = static_cast<std::int64_t>(blocks_of_share(begin, begin + pushed_).size());
    leaves_ = std::max(leaves_, partials + 1);
  }
  ++pushed_;
}

void SumBytes::start_reduce() {
  reducing_ = true;
  if (shape_.sharing == Sharing::every_round) {
    ranges_ += shape_.place.count();
    return;
  }
  if (shape_.place.count() > 1) leaves_ = static_cast<std::int64_t>(shape_.blocks_of(shape_.place.index()).size());
  for (int r = 0; r < shape_.place.count(); ++r) {
    if (r != shape_.place.index()) ranges_ += static_cast<std::int64_t>(shape_.blocks_of(r).size());
  }
}

void SumBytes::finish_reduce() {
  reducing_ = false;
  if (shape_.sharing == Sharing::every_round) return finish_round();
  // The total lies in the first block's buffer, which came from another replica or is part of this one's.
  ranges_ = shape_.place.index() == 0 ? 0 : 1;
}

void SumBytes::finish_round() {
  for (int d = 0; d < shape_.place.dp; ++d) {
    for (int c = 0; c < shape_.place.cp; ++c) {
      partials_.push_back({0, shape_.leaf_of_round(rounds_, d, c)});
      while (partials_.size() > 1 && partials_[partials_.size() - 2].level == partials_.back().level &&
             partials_[partials_.size() - 2].parent() == partials_.back().parent()) {
        partials_.pop_back();
        partials_.back() = partials_.back().parent();
      }
    }
  }
  --leaves_;
  const bool complete = ++rounds_ == shape_.share();
  ranges_ = complete ? 1 : static_cast<std::int64_t>(partials_.size());
}

void SumBytes::reset() {
  pushed_ = rounds_ = 0;
  leaves_ = ranges_ = 0;
  partials_.clear();
}

std::int64_t reduce_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  if (shape.place.count() == 1) return 0;
  const std::int64_t others = plan.elements() - plan.elements_of(shape.place.index()).count;
  const bool every_round = shape.sharing == Sharing::every_round;
  const auto blocks = static_cast<std::int64_t>(shape.blocks_of(shape.place.index()).size());
  return element_bytes * others * (every_round ? 1 : blocks);
}

std::int64_t gather_bytes_sent(const ShardPlan& plan, const SumShape& shape) {
  return element_bytes * plan.elements_of(shape.place.index()).count * (shape.place.count() - 1);
}

}  // namespace troika::shape
