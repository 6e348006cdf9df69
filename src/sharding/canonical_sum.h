// The canonical gradient sum of one flat buffer: leaves (one microbatch's gradient each) are added along the fixed tree
// of tree.h, whoever computed them, so the total has the same bits for any number of data-parallel ranks and, without
// context parallelism, for both ways of sharing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "shape/shard_plan.h"
#include "shape/sum_shape.h"
#include "tensor/ledger.h"

namespace troika::sharding {

// Order of calls in a step: leaf, push for each microbatch of the share; start_reduce once (at_end) or after every push
// (every_round); finish_reduce; then total() is this rank's range of the sum over all leaves. For the whole sum on every
// rank: start_gather, finish_gather. reset begins the next step. All replicas make the same calls on every buffer in the
// same order. Owns its buffers; one rank's thread. BugError when calls or microbatches come out of order.
class CanonicalSum {
 public:
  // Told when the rank stood still for the others, in base::monotonic_seconds.
  using OnWait = std::function<void(double begin_seconds, double end_seconds)>;

  CanonicalSum(shape::ShardPlan plan, const shape::SumShape& shape, const c10::Device& device, tensor::Ledger& ledger);
  ~CanonicalSum();
  CanonicalSum(const CanonicalSum&) = delete;
  CanonicalSum& operator=(const CanonicalSum&) = delete;

  // A buffer of all elements, fp32, to write the next leaf into, also while the last one is on its way. Uninitialised.
  at::Tensor leaf();
  void push(std::int64_t microbatch);  // the leaf is written

  // `tag` distinguishes this buffer's sums from all other messages of the channel. One replica: no messages.
  void start_reduce(comm::Channel& replicas, std::uint32_t tag);
  bool reducing() const { return reducing_; }  // started, not finished
  void finish_reduce(const OnWait& on_wait);
  at::Tensor total() const;  // of this rank's range; may be written to; the buffer is this object's until reset()

  void start_gather(comm::Channel& replicas, std::uint32_t tag);
  at::Tensor finish_gather(const OnWait& on_wait);  // all elements, valid until reset()

  void reset();

  const shape::ShardPlan& plan() const { return plan_; }
  const c10::Device& device() const { return device_; }
  shape::Range mine() const { return plan_.elements_of(shape_.place.index()); }

 private:
  struct Partial {
    shape::Block block;
    at::Tensor sum;
  };
  struct Incoming {  // a leaf or partial sum of this rank's range, from another replica or (no transfer) this one
    shape::Block block;
    at::Tensor sum;
    comm::Transfer transfer;
  };
  at::Tensor allocate(std::int64_t elements);
  at::Tensor take_whole();
  void enter(shape::Block block, at::Tensor sum);
  void start_round(comm::Channel& replicas, std::uint32_t tag);
  void start_sharing(comm::Channel& replicas, std::uint32_t tag);
  void receive(comm::Channel& replicas, int from, shape::Block block, const at::Tensor& own, std::uint32_t tag);
  void send_ranges(comm::Channel& replicas, const at::Tensor& whole, std::uint32_t tag);
  void finish_round();

  const shape::ShardPlan plan_;
  const shape::SumShape shape_;
  const c10::Device device_;
  tensor::Ledger& ledger_;
  std::int64_t next_ = 0;                      // microbatch expected by push
  std::int64_t pushed_ = 0;                    // of this step
  std::int64_t rounds_ = 0;                    // finished
  at::Tensor leaf_, sending_, total_, whole_;  // sending: the leaf of the round under way
  bool leaf_written_ = false, reducing_ = false;
  std::vector<Partial> partials_;
  std::vector<Incoming> incoming_;
  std::vector<comm::Transfer> sends_, gathers_;
  std::vector<at::Tensor> free_;  // at_end: for the next leaf of the step
};

}  // namespace troika::sharding
