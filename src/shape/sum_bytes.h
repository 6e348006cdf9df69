// The bytes that a CanonicalSum holds, from numbers alone: the same calls in the same order give what its ledger counts.
#pragma once

#include <cstdint>
#include <vector>

#include "shape/shard_plan.h"
#include "shape/sum_shape.h"

namespace troika::shape {

class SumBytes {
 public:
  // `elements` of the buffer, of which `own` are in the range of the rank at shape.place.
  SumBytes(std::int64_t elements, std::int64_t own, const SumShape& shape);

  std::int64_t held() const { return 4 * (leaves_ * elements_ + ranges_ * own_); }

  void push();  // with the leaf that is pushed
  void start_reduce();
  bool reducing() const { return reducing_; }
  void finish_reduce();
  void reset();

 private:
  void finish_round();

  const SumShape shape_;
  const std::int64_t elements_, own_;
  std::int64_t leaves_ = 0, ranges_ = 0;  // buffers allocated: of all elements, of this rank's range
  std::int64_t pushed_ = 0, rounds_ = 0;
  std::vector<Block> partials_;  // every_round
  bool reducing_ = false;
};

// Sent by the rank at shape.place in one reduction of a buffer, and in one gather of its sums.
std::int64_t reduce_bytes_sent(const ShardPlan& plan, const SumShape& shape);
std::int64_t gather_bytes_sent(const ShardPlan& plan, const SumShape& shape);

}  // namespace troika::shape
