// The sum of one rank's leaves of a flat gradient (gradient_sum.h has that of all ranks).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/grid.h"
#include "shape/shard_plan.h"
#include "shape/sum_shape.h"
#include "sharding/leaf_writer.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// Order of calls: begin_step; for each leaf open and close, then push; take_floats or take_integers, after the last leaf
// (at_end) or after every one (each_leaf); reset. One rank's thread. BugError when calls come out of order.
class OwnLeaves final : public LeafWriter {
 public:
  using Allocate = std::function<tensor::Tensor(std::int64_t elements, tensor::Dtype dtype)>;
  // plan outlives it
  OwnLeaves(const shape::ShardPlan& plan, const shape::SumShape& shape, const tensor::Device& device,
            Allocate allocate);

  // Leaves become integers g * 2^shift, by part of the plan.
  void begin_step(const std::vector<int>& shifts);

  tensor::Tensor open(const shape::Range& range) override;
  tensor::Destination open_sum(const shape::Range& range) override;
  void close() override;
  void write(const shape::Range& range, const tensor::Tensor& x) override;
  void write_rows(const shape::Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD) override;
  void push();          // the leaf is written
  void push_nothing();  // in its place: the leaf is 0

  // kernels::MagnitudeBits of leaves since begin_step, by part, int32; 0 where nothing is rounded.
  const tensor::Tensor& largest() const { return largest_; }

  bool are_floats() const;       // what is to be taken: what leaves add up in, but where integers are added on the way
  tensor::Tensor take_floats();  // all elements: the leaf that was pushed (each_leaf), or the sum
  std::vector<tensor::Tensor> take_integers();  // the same, by the replica whose range it is

  void reset();

 private:
  struct Piece {
    shape::Range range;
    tensor::Tensor elements;  // undefined: they are in the sum
  };
  void begin_piece(const shape::Range& range);
  bool writes_in_place() const;
  bool add_in_floats() const;
  void add(const Piece& piece);
  void round(const Piece& piece);
  void add_on_grid(const Piece& piece);
  void add_rows(const shape::Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD);
  void make_integers();
  kernels::Into into(const shape::Range& range) const;
  void note_in_sum(const shape::Range& range);
  void clear_rest_of_sum(std::size_t part);
  void check_complete() const;
  kernels::Largest largest_of(const shape::Range& range) const;

  const shape::ShardPlan& plan_;
  const shape::SumShape shape_;
  const tensor::Device device_;
  const Allocate allocate_;
  std::vector<int> shifts_;  // by part
  tensor::Tensor largest_;
  std::vector<Piece> open_;
  // By part, elements from its first one on: opened of this leaf; what the sum has (each_leaf: the leaf in floats_).
  std::vector<std::int64_t> opened_, in_sum_;
  std::int64_t pushed_ = 0;  // leaves of this step
  bool leaf_waits_ = false;  // each_leaf: to be taken
  tensor::Tensor floats_;    // the leaf (each_leaf), or the sum that is taken in fp32
  std::vector<tensor::Tensor> integers_;
};

// The grids of the elements in a range of a sharded buffer. `shifts`: by part of the plan.
inline kernels::GridStretches grid_stretches(const shape::ShardPlan& plan, const shape::Range& range,
                                             const std::vector<int>& shifts) {
  kernels::GridStretches stretches;
  plan.visit_parts(range, [&](std::size_t part, std::int64_t, std::int64_t count) {
    stretches.push_back({count, shifts[part]});
  });
  return stretches;
}

}  // namespace troika::sharding
