// The canonical gradient sum of one stage: leaves (one microbatch's gradient each) enter in ascending order and are
// added along the fixed tree of tree.h, first within this rank's share, then over the dp group, so the total has the
// same bits for any number of data-parallel ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "sharding/tree.h"
#include "tensor/ledger.h"

namespace troika::sharding {

// Owns its buffers: at most 1 + log2(share) partial sums and one leaf, reused from step to step. One rank's thread.
class CanonicalSum {
 public:
  // `leaves` microbatches over `dp` ranks in contiguous shares; this rank's is number `dp_rank`.
  CanonicalSum(std::int64_t elements, std::int64_t leaves, int dp_rank, int dp, const c10::Device& device,
               tensor::Ledger& ledger);
  ~CanonicalSum();
  CanonicalSum(const CanonicalSum&) = delete;
  CanonicalSum& operator=(const CanonicalSum&) = delete;

  // A buffer of `elements` fp32 to write the next leaf into. Uninitialised.
  at::Tensor leaf();
  // The leaf is written: it enters the tree. BugError unless microbatches of the share come in ascending order.
  void push(std::int64_t microbatch);

  // After the share's last leaf: exchanges partial sums over `dp` and returns the total of all microbatches (elements
  // fp32), the same bits on every rank. The buffer is this object's until reset().
  // Tells `on_wait` when it stood still for the other ranks (base::monotonic_seconds).
  using OnWait = std::function<void(double begin_seconds, double end_seconds)>;
  at::Tensor reduce(comm::Channel& dp, const OnWait& on_wait);
  // Begins the next step.
  void reset();

  // What this rank sends in reduce(), for the program and the planner.
  static std::int64_t bytes_sent(std::int64_t elements, std::int64_t leaves, int dp_rank, int dp);

 private:
  struct Partial {
    Block block;
    at::Tensor sum;
  };
  at::Tensor take();
  void give_back(at::Tensor buffer);
  void merge();
  at::Tensor reduce_owned(comm::Channel& dp, const OnWait& on_wait);

  const std::int64_t elements_, leaves_;
  const int dp_rank_, dp_;
  const c10::Device device_;
  tensor::Ledger& ledger_;
  std::int64_t allocated_ = 0;  // buffers
  std::int64_t next_;           // microbatch expected by push
  at::Tensor leaf_;
  std::vector<Partial> partials_;
  std::vector<at::Tensor> free_;
};

}  // namespace troika::sharding
