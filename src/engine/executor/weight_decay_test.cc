// Weight decay: on every element of a matrix and on no element of a norm, however a buffer is cut.
#include <gtest/gtest.h>

#include "executor/bucket.h"
#include "tensor/libtorch_test_support.h"

namespace troika::executor {
namespace {

config::ModelSettings model() {
  config::ModelSettings m;
  m.layers = 2;
  m.hidden = 96;
  m.heads = 6;
  m.kv_heads = 3;
  m.head_dim = 16;
  m.ffn = 250;
  m.vocab = 259;
  m.tie_embeddings = false;
  return m;
}

constexpr double lr = 0.5, decay = 0.25;

BucketSettings settings_of(int zero, int replicas, int replica, c10::ScalarType dtype) {
  BucketSettings settings;
  settings.zero = zero;
  settings.sum.shares.assign(static_cast<std::size_t>(replicas), 1);
  settings.sum.place = {replicas, 1, replica, 0};
  settings.sum.reduction = zero >= 2 ? shape::Reduction::each_leaf : shape::Reduction::at_end;
  settings.sum.result = zero == 0 ? shape::Result::whole : shape::Result::range;
  settings.dtype = tensor::ours(dtype);
  settings.optimizer.weight_decay = decay;
  return settings;
}

// One step from 1 with a gradient of 0, so only the decay moves what is held. Counts the elements seen of each kind.
struct Seen {
  std::int64_t matrices = 0, norms = 0;
};
Seen step_one_rank(const shape::SegmentLayout& layout, BucketSettings settings) {
  const auto streams = tensor::make_host_streams();
  settings.streams = streams.get();
  tensor::Ledger ledger;
  Bucket bucket(layout, Bucket::Content::trainable, settings, ledger);
  const shape::Range held = bucket.held();
  tensor::theirs(bucket.optimizer().master()).fill_(1);
  bucket.optimizer().master_changed();
  bucket.optimizer().step(at::zeros({held.count}), {lr, 1, 1});
  const at::Tensor after = bucket.optimizer().master().contiguous();
  Seen seen;
  for (const shape::Slot& slot : layout.slots) {
    const bool matrix = slot.info.shape.size() == 2;
    const double expected = matrix ? 1 - lr * decay : 1;
    for (std::int64_t i = std::max(slot.offset, held.begin); i < std::min(slot.offset + slot.elements(), held.end());
         ++i) {
      EXPECT_EQ(after.data_ptr<float>()[i - held.begin], expected) << slot.info.name;
      (matrix ? seen.matrices : seen.norms) += 1;
    }
  }
  return seen;
}

// All ranks that hold the segment together, replicas of every tp rank.
void expect_decay(int segment, int tp, int zero, int replicas, c10::ScalarType dtype) {
  std::int64_t norms = 0, matrices = 0, expected = 0;
  for (int tp_rank = 0; tp_rank < tp; ++tp_rank) {
    const auto layout = shape::segment_layout(model(), segment, {tp_rank, tp});
    expected += layout.elements * (zero == 0 ? replicas : 1);
    for (int replica = 0; replica < replicas; ++replica) {
      const Seen seen = step_one_rank(layout, settings_of(zero, replicas, replica, dtype));
      norms += seen.norms;
      matrices += seen.matrices;
    }
  }
  EXPECT_EQ(norms + matrices, expected) << "segment " << segment << " tp " << tp << " zero " << zero;
  EXPECT_GT(matrices, 0);
  EXPECT_EQ(norms > 0, segment > 0);  // the embedding has none
}

TEST(WeightDecay, IsOnMatricesAndNotOnNormsInWholeAndShardedBuffers) {
  for (const int segment : {0, 1, 3}) {
    for (const int tp : {1, 2, 4}) {
      for (const int zero : {0, 1, 2, 3}) {
        for (const int replicas : {1, 3, 4}) expect_decay(segment, tp, zero, replicas, at::kFloat);
      }
    }
    expect_decay(segment, 1, 3, 3, at::kBFloat16);
    expect_decay(segment, 2, 1, 3, at::kHalf);
  }
}

TEST(WeightDecay, OfATiedTableIsTheSameInItsCopyAtTheHead) {
  config::ModelSettings tied = model();
  tied.tie_embeddings = true;
  const auto layout = shape::tied_layout(tied);
  EXPECT_EQ(step_one_rank(layout, settings_of(1, 2, 0, at::kFloat)).norms, 0);
  EXPECT_GT(step_one_rank(layout, settings_of(1, 2, 1, at::kFloat)).matrices, 0);
}

}  // namespace
}  // namespace troika::executor
