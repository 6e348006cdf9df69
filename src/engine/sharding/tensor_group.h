// A rank's tensor-parallel group and the two ways in which activations cross it. Between the split operations each rank
// keeps all rows, or, with sequence parallelism, its part of them. M. Shoeybi et al., "Megatron-LM", 2019; V. Korthikanti
// et al., "Reducing Activation Recomputation in Large Transformer Models", 2022.
//
// All ranks of the group make the same calls in the same order with the same M; calls block until the messages are in.
// Sums run in rank order in fp32 and are rounded once, so every rank that holds a sum holds the same bits.
// Shapes: M rows of a microbatch, m those that this rank keeps, D width; contiguous, any one dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/channel.h"
#include "shape/region.h"
#include "sharding/on_wait.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// A gradient that the ranks [first_holder, end_holder) all hold: fp32, contiguous, of one size on all of them.
struct SharedSlice {
  tensor::Tensor view;
  int first_holder = 0, end_holder = 1;
};

// Threads: one rank's thread.
class TensorGroup : public PeerGroup {
 public:
  TensorGroup() = default;  // alone: everything below is the identity, without copies
  TensorGroup(comm::Channel& channel, shape::SequenceParallel split);  // `channel` must outlive it

  shape::SequenceParallel sequence_parallel() const { return split_; }  // off when alone

  // The rows this rank keeps between the split operations: its part with sequence parallelism, else all.
  shape::Range rows(std::int64_t M) const;
  // Own rows to all rows; without sequence parallelism x itself.
  tensor::Tensor all_gather(const tensor::Tensor& x_mD, std::int64_t M) const;
  // The sum of all ranks' partial_MD in its dtype, of own rows; without sequence parallelism of all rows (an all-reduce).
  // Each of the two is the other's gradient.
  tensor::Tensor reduce_scatter(const tensor::Tensor& partial_MD) const;

  // Every rank's `mine`, equal in shape, in rank order.
  std::vector<tensor::Tensor> gather(const tensor::Tensor& mine) const;

  // Adds, in place, the slices of all ranks: fp32, contiguous; one message to each rank for all of them.
  void sum(const std::vector<tensor::Tensor>& views) const;
  // The same for slices that only some ranks hold, this rank among them. Any two ranks list what they share in one order.
  void sum_shared(const std::vector<SharedSlice>& slices) const;

 private:
  void exchange(const std::vector<tensor::Tensor>& to, const std::vector<tensor::Tensor>& from) const;
  void gather_into(const tensor::Tensor& mine, const std::vector<tensor::Tensor>& outs) const;
  tensor::Tensor sum_of_part(const tensor::Tensor& partial, const std::vector<shape::Range>& ranges) const;
  tensor::Tensor join(const tensor::Tensor& mine, const std::vector<shape::Range>& ranges) const;

  shape::SequenceParallel split_ = shape::SequenceParallel::off;
};

}  // namespace troika::sharding
