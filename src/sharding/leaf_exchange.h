// One rank's leaf (shape/sum_shape.h) on its way to the owners of its ranges, in fp32, while theirs come in. The replicas
// exchange in pairs, one distance after the other, and what comes in lies where the leaf's own range was: an exchange takes
// no memory beside the leaf.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "shape/shard_plan.h"

namespace troika::sharding {

// One rank's thread. All replicas make the same calls in the same order. Errors of the channel pass through.
class LeafExchange {
 public:
  // leaf: all elements of the plan. Its range of this replica (the channel's rank) has been read: it is written over.
  // Starts with the neighbours. plan and channel outlive it.
  LeafExchange(at::Tensor leaf, const shape::ShardPlan& plan, comm::Channel& replicas, std::uint32_t tag);

  // Shows every other replica's leaf of this range, from the left-hand neighbour's on; valid within the call.
  void finish(const std::function<void(const at::Tensor& range)>& add);

  const at::Tensor& own_range() const { return own_range_; }  // of the leaf; free for any use after finish()

 private:
  void start_round();

  const at::Tensor leaf_;
  const shape::ShardPlan& plan_;
  comm::Channel& replicas_;
  const std::uint32_t tag_;
  const at::Tensor own_range_;
  int distance_ = 1;
  comm::Transfer incoming_;
  std::vector<comm::Transfer> sends_;
};

}  // namespace troika::sharding
