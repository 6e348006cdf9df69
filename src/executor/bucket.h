// One flat buffer of parameters as a rank keeps it: values and, unless they are frozen, sum of gradients and optimizer,
// each whole or this rank's range of it, as the ZeRO stage says (S. Rajbhandari et al., "ZeRO: Memory Optimizations
// Toward Training Trillion Parameter Models", SC 2020).
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/channel.h"
#include "config/settings.h"
#include "executor/message_tag.h"
#include "model/layout.h"
#include "optimizer/optimizer.h"
#include "sharding/canonical_sum.h"
#include "tensor/ledger.h"

namespace troika::executor {

// How the buffer of a layout is shared out over its replicas.
sharding::ShardPlan shard_plan(const model::SegmentLayout& layout, int replicas);

struct BucketSettings {
  int zero = 0;
  sharding::SumShape sum;
  c10::ScalarType dtype = c10::ScalarType::Float;  // of the parameters as forward and backward read them
  c10::Device device{c10::kCPU};
  config::OptimizerSettings optimizer;
  optimizer::StatePlace state;
};

// With one replica every ZeRO stage is the same: all of it is here. One rank's thread.
class Bucket {
 public:
  using OnWait = sharding::CanonicalSum::OnWait;
  // parameters: values that are trained. frozen: values that nobody updates, as in an evaluation; no gradients, no
  // optimizer, no master copy. gradients: the second use of a tied embedding whose parameters are in another bucket of
  // this rank.
  enum class Content { parameters, frozen, gradients };

  Bucket(model::SegmentLayout layout, Content content, const BucketSettings& settings, tensor::Ledger& ledger);

  const model::SegmentLayout& layout() const { return layout_; }
  sharding::CanonicalSum& sum() { return sum_; }
  const sharding::CanonicalSum& sum() const { return sum_; }
  bool has_parameters() const { return content_ != Content::gradients; }
  bool has_gradients() const { return content_ != Content::frozen; }   // that backward writes
  bool is_trained() const { return content_ == Content::parameters; }  // has an optimizer
  optimizer::AdamW& optimizer() { return *optimizer_; }
  // Of the range held(), in the compute dtype: what an optimizer, or whoever loads frozen values, writes.
  // `Executor::publish_parameters` makes it everybody's.
  const at::Tensor& own_values() const { return own_; }

  // Every replica holds a range of its own, not all of it.
  bool shared_out() const { return zero_ > 0 && replicas_ > 1; }
  // The range whose values this rank answers for, with the optimizer state if any: all of it in ZeRO 0, this rank's
  // range otherwise.
  sharding::Range held() const { return held_; }
  // The step's gradient of that range, once it is complete. Waits for it where it is still on the way.
  at::Tensor gradient(const OnWait& on_wait);

  // All parameters in the compute dtype. BugError while they are not gathered. A gathered table has two readers, the
  // embedding and the head, with room of their own: so what is sent never depends on what the other has just freed.
  const at::Tensor& values(Use use) const;
  // Brings every replica's range to all.
  void start_gather(comm::Channel& replicas, std::uint32_t tag, Use use);
  bool gathering(Use use) const { return !readers_[index(use)].transfers.empty(); }
  void finish_gather(Use use, const OnWait& on_wait);
  void free(Use use);  // ZeRO 3: back to the shard
  // Whether what the optimizer changed must be gathered for forward and backward to see it (ZeRO 1, 2).
  bool must_publish() const { return shared_out() && !sharded(); }

 private:
  bool sharded() const { return zero_ == 3 && replicas_ > 1; }

  const model::SegmentLayout layout_;
  const Content content_;
  const int zero_, replicas_;
  const BucketSettings settings_;
  tensor::Ledger& ledger_;
  sharding::CanonicalSum sum_;
  sharding::Range held_;
  struct Reader {
    at::Tensor values;
    std::vector<comm::Transfer> transfers;
  };
  static std::size_t index(Use use) { return static_cast<std::size_t>(use); }

  std::array<Reader, 2> readers_;  // not sharded: both see one tensor
  at::Tensor shard_, own_;
  std::unique_ptr<optimizer::AdamW> optimizer_;
};

// A segment of the model with its parameters.
struct SegmentUnit {
  std::unique_ptr<model::Segment> body;
  std::unique_ptr<Bucket> bucket;
  std::unique_ptr<Bucket>
      second_use;  // the head of a tied model: gradient of the table by the head, or a copy of the table
  std::unique_ptr<Bucket> adapter;  // a block's low-rank adapters
  Bucket* table = nullptr;     // where the head of a tied model reads the table: second_use, or the embedding's bucket
  Use table_use = Use::first;  // as which reader of that bucket

  std::vector<Bucket*> buckets() const;  // its own
  std::vector<Bucket*> written() const;  // of these, that backward writes
  struct Read {
    Bucket* bucket;
    Use use;
  };
  std::vector<Read> read() const;  // that its forward and backward read
  model::SegmentBuffer parameters() const;
  model::SegmentBuffer leaves() const;  // of the microbatch to be written next
};

}  // namespace troika::executor
