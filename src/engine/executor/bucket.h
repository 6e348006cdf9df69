// One flat buffer of parameters as a rank keeps it: values and, unless they are frozen, sum of gradients and optimizer,
// each whole or this rank's range of it, as the ZeRO stage says (S. Rajbhandari et al., "ZeRO: Memory Optimizations
// Toward Training Trillion Parameter Models", SC 2020).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "comm/channel.h"
#include "config/settings/settings.h"
#include "executor/message_tags.h"
#include "model/segment.h"
#include "optimizer/optimizer.h"
#include "shape/layout.h"
#include "sharding/gradient_sum.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::executor {

struct BucketSettings {
  int zero = 0;
  shape::SumShape sum;
  tensor::Dtype dtype = tensor::Dtype::fp32;  // of the parameters as forward and backward read them
  tensor::Streams* streams = nullptr;         // of the rank's device; must outlive the bucket
  config::OptimizerSettings optimizer;
  shape::StatePlace state;
  optimizer::Checksums checksums = optimizer::Checksums::off;
};

// With one replica every ZeRO stage is the same: all of it is here. One rank's thread.
class Bucket {
 public:
  // trainable: values with gradients and optimizer. frozen: values that nobody updates, as in an evaluation; no
  // gradients, no optimizer, no master copy.
  enum class Content { trainable, frozen };

  Bucket(shape::SegmentLayout layout, Content content, const BucketSettings& settings, tensor::Ledger& ledger);

  const shape::SegmentLayout& layout() const { return layout_; }
  sharding::GradientSum& sum() { return sum_; }
  const sharding::GradientSum& sum() const { return sum_; }
  bool is_trained() const { return content_ == Content::trainable; }  // has gradients and an optimizer
  optimizer::Optimizer& optimizer() { return *optimizer_; }
  // The values of the range held(), in the compute dtype, as written by an optimizer or the loader of frozen values.
  // `Executor::publish_parameters` makes it everybody's.
  const tensor::Tensor& own_values() const { return own_; }

  // Every replica holds a range of its own, not all of it.
  bool holds_range() const { return zero_ > 0 && replicas_ > 1; }
  // The range whose values this rank answers for, with the optimizer state if any: all of it in ZeRO 0, this rank's
  // range otherwise.
  shape::Range held() const { return held_; }
  // The step's gradient of that range, once it is complete. Waits for it where it is still on the way.
  tensor::Tensor gradient(const sharding::OnWait& on_wait);

  // Every slot's part of the range held(): the slot's index and its elements from the range's begin. As the optimizer counts
  // its stretches.
  struct HeldSlot {
    std::size_t slot = 0;
    shape::Range elements;
  };
  std::vector<HeldSlot> held_slots() const;
  // Forward and backward read more than what this rank answers for, and it stays with them between steps (ZeRO 1, 2): what the
  // optimizer changed must be gathered for them to see it.
  bool keeps_others_values() const { return holds_range() && !shards_values(); }

  // All parameters in the compute dtype. BugError while they are not gathered. A gathered table has two readers, the
  // embedding and the head, with buffers of their own: so what is sent never depends on what the other has just freed.
  const tensor::Tensor& values(ReadBy by) const;
  // Brings every replica's range to all.
  void start_gather(comm::Channel& replicas, std::uint32_t tag, ReadBy by);
  bool gathering(ReadBy by) const { return !readers_[index(by)].transfers.empty(); }
  void finish_gather(ReadBy by, const sharding::OnWait& on_wait);
  void free(ReadBy by);  // ZeRO 3: back to the shard

 private:
  bool shards_values() const { return zero_ == 3 && replicas_ > 1; }

  const shape::SegmentLayout layout_;
  const Content content_;
  const int zero_, replicas_;
  const BucketSettings settings_;
  tensor::Ledger& ledger_;
  sharding::GradientSum sum_;
  shape::Range held_;
  struct Reader {
    tensor::Tensor values;
    std::vector<comm::Transfer> transfers;
  };
  static std::size_t index(ReadBy by) { return static_cast<std::size_t>(by); }

  std::array<Reader, 2> readers_;  // not sharded: both see one tensor
  tensor::Tensor shard_, own_;
  std::unique_ptr<optimizer::Optimizer> optimizer_;
};

// A segment of the model with the buffers of parameters it reads and writes.
struct SegmentUnit {
  std::unique_ptr<model::Segment> segment;
  std::unique_ptr<Bucket> bucket;
  std::unique_ptr<Bucket> table_copy;  // of a tied model, where the head lies on another rank than the embedding
  std::unique_ptr<Bucket> adapter;     // a block's low-rank adapters
  Bucket* table = nullptr;             // of the head of a tied model: table_copy, or the embedding's bucket
  ReadBy table_read_by = ReadBy::own_segment;  // as which reader of that bucket

  std::vector<Bucket*> buckets() const;  // its own
  std::vector<Bucket*> trained() const;  // of these
  // That its backward adds a leaf to: the trained ones and the embedding's table.
  std::vector<Bucket*> written() const;
  struct Read {
    Bucket* bucket;
    ReadBy by;
  };
  std::vector<Read> read() const;  // that its forward and backward read
  model::SegmentBuffer parameters() const;
  model::SegmentLeaves leaves() const;
};

using Units = std::map<int, std::unique_ptr<SegmentUnit>>;  // by segment, those this rank holds

}  // namespace troika::executor
