// What one rank's leaves of a flat gradient add up to (gradient_sum.h has that of all ranks).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/grid.h"
#include "shape/shard_plan.h"
#include "shape/sum_shape.h"
#include "sharding/leaf_writer.h"

namespace troika::sharding {

// Order of calls: begin_step; for each leaf open and close, then push; take_floats or take_integers, after the last leaf
// (at_end) or after every one (each_leaf); reset. One rank's thread. BugError when calls come out of order.
class OwnLeaves final : public LeafWriter {
 public:
  using Allocate = std::function<at::Tensor(std::int64_t elements, c10::ScalarType dtype)>;
  OwnLeaves(const shape::ShardPlan& plan, const shape::SumShape& shape, Allocate allocate);  // plan outlives it

  // Leaves become integers g * 2^shift, by part of the plan.
  void begin_step(const std::vector<int>& shifts);

  // Pieces are whole parts of the plan.
  at::Tensor open(const shape::Range& range) override;
  void close() override;
  void push();  // the leaf is written

  // Of leaves since begin_step, by part; 0 where nothing is rounded.
  const std::vector<kernels::MagnitudeBits>& largest() const { return largest_; }

  bool are_floats() const;                  // what is to be taken
  at::Tensor take_floats();                 // all elements: the leaf that was pushed (each_leaf), or the sum
  std::vector<at::Tensor> take_integers();  // the sum, by the replica whose range it is

  void reset();

 private:
  struct Piece {
    shape::Range range;
    at::Tensor elements;
  };
  bool is_whole_parts(const shape::Range& range) const;
  bool writes_in_place() const;
  void add(const Piece& piece);
  void round(const Piece& piece);
  void add_on_grid(const Piece& piece);
  void clear_unwritten();
  void check_complete() const;

  const shape::ShardPlan& plan_;
  const shape::SumShape shape_;
  const Allocate allocate_;
  std::vector<int> shifts_;  // by part
  std::vector<kernels::MagnitudeBits> largest_;
  std::vector<Piece> open_;
  std::vector<bool> written_;   // by part: of the leaf, in each_leaf; else of the sum
  bool piece_written_ = false;  // of this leaf
  std::int64_t pushed_ = 0;     // leaves of this step
  bool leaf_waits_ = false;     // each_leaf: to be taken
  at::Tensor floats_;           // the leaf (each_leaf), or the sum that is taken in fp32
  std::vector<at::Tensor> integers_;
};

}  // namespace troika::sharding
