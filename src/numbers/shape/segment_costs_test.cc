#include "shape/segment_costs.h"

#include <gtest/gtest.h>

#include "shape/layout_test_support.h"
#include "shape/gpu_chunks.h"

namespace troika::shape {
namespace {
using base::Repeatable;

constexpr std::int64_t M = 10, D = 64, A = 64, K = 32, F = 192, N = 4;  // rows; widths of the models below; heads

std::int64_t block_bytes(config::ModelSettings model, SavedActivations saved) {
  model.head_dim = 16;
  return segment_saved_bytes(model, {MicrobatchRows::equal(2, 5)}, saved).whole[1];
}

TEST(SavedBytes, OfABlockAreTheArithmetic) {
  // Four of width D, q k v before and q k after rotation, the output of attention, its lse, gate and up, their product,
  // and the inverse roots of two norms and of the heads.
  EXPECT_EQ(block_bytes(narrow(true), SavedActivations::all),
            4 * M * (4 * D + (A + 2 * K) + (A + K) + A + N + 2 * F + F + 2 + (N + 2)));
  EXPECT_EQ(block_bytes(narrow(true), SavedActivations::selective),
            4 * M * (2 * D + (A + 2 * K) + A + N + 2 * F + 2 + (N + 2)));
}

TEST(SavedBytes, OfABlockOfLlamaHaveNoStatisticsOfHeads) {
  for (const char* architecture : {"llama", "qwen2"}) {
    EXPECT_EQ(block_bytes(narrow_as(architecture, true), SavedActivations::all),
              4 * M * (4 * D + (A + 2 * K) + (A + K) + A + N + 2 * F + F + 2));
  }
}

TEST(SavedBytes, OfABlockOfGpt2AreTheArithmetic) {
  // Four of width D, q k v, the output of attention, its lse, both sides of GELU, mean and inverse root of two norms.
  EXPECT_EQ(block_bytes(narrow_gpt2(true), SavedActivations::all), 4 * M * (4 * D + 3 * D + D + N + 2 * F + 4));
  EXPECT_EQ(block_bytes(narrow_gpt2(true), SavedActivations::selective), 4 * M * (2 * D + 3 * D + D + N + F + 4));
}

TEST(SavedBytes, OfSegmentsThatAreComputedAgainAreNone) {
  const SavedBytes bytes = segment_saved_bytes(narrow(true), {MicrobatchRows::equal(2, 5)}, SavedActivations::none);
  EXPECT_EQ(bytes.whole, std::vector<std::int64_t>(4, 0));
  EXPECT_EQ(bytes.half, segment_saved_bytes(narrow(true), {MicrobatchRows::equal(2, 5)}, SavedActivations::all).half);
}

TEST(BlockBackward, WithoutAttentionIsThatOfTheFeedForward) {
  const MicrobatchShape microbatch{MicrobatchRows::equal(2, 5)};
  BlockKind kind = block_kind(narrow(true), 1);
  kind.attention = BlockKind::Attention::none;
  EXPECT_EQ(block_backward_bytes(narrow(true), kind, microbatch, Repeatable::yes), 4 * M * 3 * F);
}

TEST(BlockBackward, OnAGpuIsTheArithmeticOfTheLargerMoment) {
  config::ModelSettings model;
  model.hidden = 1024;
  model.heads = 16;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.ffn = 3072;
  model.vocab = 1000;
  const MicrobatchShape whole{MicrobatchRows::equal(8, 2048), {}, SequenceParallel::off, config::Precision::bf16},
      half{MicrobatchRows::equal(8, 128), {1, 2}, SequenceParallel::off, config::Precision::bf16};
  EXPECT_EQ(block_backward_bytes(model, block_kind(model, 1), whole, Repeatable::yes),
            2 * 4 * 16 * 2048 * 512 + 8 * 2048 * (8 * 128 * (4 + 4) + 2 * (3072 + 16 * 128 + 1024)));
  const std::int64_t heads = 8 * 8, of_each_head = 2 * 2 * heads * 128 * 128, dots = 4 * heads * 128;
  const std::int64_t others = 8 * 128 * 2 * (1536 + 8 * 128 + 1024);
  EXPECT_EQ(block_backward_bytes(model, block_kind(model, 1), half, Repeatable::yes), 2 * heads * 128 * 128 + of_each_head + dots + others);
  EXPECT_EQ(block_backward_bytes(model, block_kind(model, 1), half, Repeatable::no), 2 * 4 * heads * 128 * 128 + of_each_head + dots + others);
  MicrobatchShape single = half;
  single.precision = config::Precision::fp32;
  EXPECT_EQ(block_backward_bytes(model, block_kind(model, 1), single, Repeatable::yes),
            2 * 4 * 8 * 128 * 128 + 8 * 128 * (4 * 128 * (4 + 4) + 4 * (1536 + 8 * 128 + 1024)))
      << "cuDNN does not compute it";
  model.ffn = 8192;
  EXPECT_EQ(block_backward_bytes(model, block_kind(model, 1), whole, Repeatable::yes), 2 * 8 * 2048 * 3 * 8192);
}

TEST(OutputLoss, ChunksOfAGpuAreLarger) {
  const OutputLossShape qwen3{16384, 1024, 151936, 1, 2}, split{16384, 1024, 75968, 2, 2}, small{100, 256, 4096, 1, 2};
  EXPECT_EQ(output_loss_gpu_bytes(qwen3), 4LL * 1664 * 151936);
  EXPECT_EQ(output_loss_gpu_bytes(split), 4LL * 3456 * 75968);
  EXPECT_EQ(output_loss_gpu_bytes(small), output_loss_chunk_bytes(small));
}

TEST(OutputLoss, KeepsGradientsWhereTheyTakeLessThanHalfOfTheBytes) {
  EXPECT_EQ(output_loss_keep({2048, 256, 4096, 1, 4}), LossKeep::gradients);
  EXPECT_EQ(output_loss_keep({256, 768, 50257, 1, 4}), LossKeep::logits);
  EXPECT_EQ(output_loss_keep({2048, 256, 4096, 2, 4}), LossKeep::logits)
      << "each part needs the others' log-sum-exp first";
  EXPECT_EQ(output_loss_keep({256, 768, 50257, 1, 4, OutputLossShape::Weight::frozen}), LossKeep::gradients);
}

}  // namespace
}  // namespace troika::shape
