// The sum of all gradients of one flat buffer in a step, with the same bits whoever computed which of them, in any order:
// leaves (shape/sum_shape.h) become integers on a grid (kernels/grid.h) that is the same for all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/channel.h"
#include "kernels/grid.h"
#include "shape/shard_plan.h"
#include "shape/sum_shape.h"
#include "sharding/on_wait.h"
#include "sharding/leaf_exchange.h"
#include "sharding/own_leaves.h"
#include "sharding/packed_message.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// Order of calls in a step: begin_step; for each leaf: leaf().open and close (leaf_writer.h), push; start_reduce and
// finish_reduce, once (at_end) or after every push (each_leaf). Then this rank's range is complete: include_other (of a
// table with its other use on another stage), squares, total. For the whole sum on every rank: start_gather, finish_gather.
// reset ends the step. All replicas make the same calls on every buffer in the same order. Owns its buffers; one rank's
// thread. BugError when calls come out of order.
class GradientSum {
 public:
  GradientSum(shape::ShardPlan plan, const shape::SumShape& shape, const tensor::Device& device, tensor::Ledger& ledger);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  // Whether sums of bits (kernels::bits_sum) are taken of a step's gradients, each of which costs a pass over them.
  enum class Bits { unread, summed };
  // By part of the plan: all magnitudes of leaves are to stay below 2^exponent.
  void begin_step(const std::vector<int>& exponents, Bits bits = Bits::unread);

  // To write the next leaf to. Pieces are whole parts of the plan.
  LeafWriter& leaf() { return own_; }
  void push() { own_.push(); }                  // the leaf is written
  void push_nothing() { own_.push_nothing(); }  // in its place: the leaf is 0

  // `tag` distinguishes this buffer's sums from all other messages of the channel. One replica: no messages.
  void start_reduce(comm::Channel& replicas, std::uint32_t tag);
  bool reducing() const { return reducing_; }  // started, not finished
  void finish_reduce(const OnWait& on_wait);

  // By part, int32 on the device: kernels::MagnitudeBits of this rank's leaves since begin_step; 0 where nothing is
  // rounded, and nothing can be out of range.
  const tensor::Tensor& largest() const { return own_.largest(); }

  // Adds the same range of the sum of another stage, which makes the same call with the tags exchanged.
  void include_other(comm::Channel& stages, int peer, std::uint32_t send_tag, std::uint32_t recv_tag,
                     const OnWait& on_wait);

  // Sums of bits that this rank has distributed since begin_step, by part of the plan. Needs Bits::summed.
  const std::vector<std::uint32_t>& shared_bits() const { return shared_bits_; }
  // Sums of bits of the complete sum in this rank's range, by part of the plan.
  std::vector<std::uint32_t> sum_bits() const;
  bool same_in_every_order() const { return shape_.addition == shape::Addition::integers; }

  tensor::Tensor squares() const;  // fp64 on the device, of the chunks of this rank's range, in chunk order
  tensor::Tensor total();          // of this rank's range, fp32; may be written to, valid until reset()

  void start_gather(comm::Channel& replicas, std::uint32_t tag);
  tensor::Tensor finish_gather(const OnWait& on_wait);  // all elements, fp32, valid until reset()

  void reset();

  const shape::ShardPlan& plan() const { return plan_; }
  const tensor::Device& device() const { return device_; }
  shape::Range mine() const { return plan_.elements_of(shape_.place.index()); }

 private:
  tensor::Tensor allocate(std::int64_t elements, tensor::Dtype dtype) const;
  NewIntegers new_integers() const;
  const tensor::Tensor& range() const;
  tensor::Tensor own_sum() const;
  void note_shared(const shape::Range& range, const tensor::Tensor& elements);
  void share_out(tensor::Tensor floats, comm::Channel& replicas, std::uint32_t tag);
  void share_out_leaf(tensor::Tensor leaf, comm::Channel& replicas, std::uint32_t tag);
  void share_out(std::vector<tensor::Tensor> integers, comm::Channel& replicas, std::uint32_t tag);
  void begin_range(const tensor::Tensor& leaf);
  void pack(std::vector<tensor::Tensor> integers, comm::Channel& replicas, std::uint32_t tag);
  void receive_packed(comm::Channel& replicas, std::uint32_t tag);
  void exchange(const std::vector<comm::Message>& out, comm::Channel& replicas, std::uint32_t tag);
  void add(const tensor::Tensor& range);
  void add_on_grid(const tensor::Tensor& range, kernels::Into into);
  void sum_in_place();
  void finish_leaf();
  void await_ranges();
  tensor::Tensor to_floats(const tensor::Tensor& range, const tensor::Tensor& into) const;

  const shape::ShardPlan plan_;
  const shape::SumShape shape_;
  const tensor::Device device_;
  tensor::Ledger& ledger_;
  OwnLeaves own_;
  std::vector<int> shifts_;  // by part
  Bits bits_ = Bits::unread;
  std::vector<std::uint32_t> shared_bits_;  // by part
  std::int64_t rounds_ = 0;                 // reductions of this step
  bool reducing_ = false;
  std::optional<LeafExchange> leaf_exchange_;
  tensor::Tensor sending_;  // what the reduction at the end shares out in fp32; stays where it becomes the whole sum
  tensor::Tensor range_;    // of all replicas' leaves, this rank's range: fp32 or integers, equal on all ranks
  tensor::Tensor total_, whole_;
  std::vector<Incoming> incoming_;  // not packed
  std::vector<PackedReceive> packed_ranges_;
  std::vector<PackedSend> packed_sends_;
  std::vector<comm::Transfer> sends_, gathers_;
};

}  // namespace troika::sharding
