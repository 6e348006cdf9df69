// One rank's leaf (shape/sum_shape.h) on its way to the owners of its ranges, in fp32, while theirs arrive. The first
// that arrives is stored where the leaf's own range was.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "shape/shard_plan.h"
#include "shape/sum_shape.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// A range of another replica's leaf, or of the sum of its leaves, on its way.
struct Incoming {
  tensor::Tensor range;  // fp32 or integers
  comm::Transfer transfer;
};

// One rank's thread. All replicas make the same calls in the same order; with shape::Receives::in_turn they also call finish() at the
// same place among their other exchanges, because it starts all but the first. Errors of the channel pass through.
class LeafExchange {
 public:
  using NewRange = std::function<tensor::Tensor()>;  // flat, fp32, of this replica's elements, uninitialised

  // leaf: all elements of the plan. Its range of this replica (the channel's rank) has been read: it is written over. `plan`
  // and `replicas` outlive it.
  LeafExchange(tensor::Tensor leaf, const shape::ShardPlan& plan, comm::Channel& replicas, std::uint32_t tag,
               shape::Receives receives, const NewRange& new_range);

  // Shows every other replica's leaf of this range, from the left-hand neighbour's on; valid within the call.
  void finish(const std::function<void(const tensor::Tensor& range)>& add);

  const tensor::Tensor& own_range() const { return own_range_; }  // of the leaf; free for any use after finish()

 private:
  void start(int distances, const NewRange& new_range);

  const tensor::Tensor leaf_;
  const shape::ShardPlan& plan_;
  comm::Channel& replicas_;
  const std::uint32_t tag_;
  const tensor::Tensor own_range_;
  int next_ = 1;  // distance between two replicas: those below are under way or done
  std::vector<Incoming> incoming_;
  std::vector<comm::Transfer> sends_;
};

// The ranges of a buffer, by the replica that owns each.
std::vector<tensor::Tensor> ranges_of(const shape::ShardPlan& plan, const tensor::Tensor& buffer);

// Sends this replica's range of `whole`, a flat buffer of any dtype, to the others and receives theirs into it. Only starts
// the messages; `whole` must stay as it is until they are done.
std::vector<comm::Transfer> exchange_ranges(comm::Channel& replicas, const shape::ShardPlan& plan,
                                            const tensor::Tensor& whole, std::uint32_t tag);

}  // namespace troika::sharding
