#include "shape/operation_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "config/presets.h"
#include "shape/layout.h"
#include "shape/layout_test_support.h"
#include "shape/shard_plan.h"
#include "shape/gpu_chunks.h"

namespace troika::shape {
namespace {

constexpr double bytes_per_second = 4.3e12, flops_per_second = 790e12;

Work of(const std::vector<OperationCost>& rows, Operation operation, Pass pass) {
  Work sum;
  int found = 0;
  for (const OperationCost& row : rows) {
    if (row.operation != operation || row.pass != pass) continue;
    sum = row.work;
    ++found;
  }
  EXPECT_EQ(found, 1) << static_cast<int>(operation) << " " << static_cast<int>(pass);
  return sum;
}

MicrobatchShape bf16(std::int64_t B, std::int64_t T) {
  MicrobatchShape shape;
  shape.rows = MicrobatchRows::equal(B, T);
  shape.precision = config::Precision::bf16;
  return shape;
}

std::vector<OperationCost> block_operations_of(const config::ModelSettings& model, const MicrobatchShape& microbatch) {
  return block_operations(model, block_kind(model, 1), microbatch);
}

// Nanoseconds of one token in one block that memory needs.
double ns(const std::string& preset, Operation operation, Pass pass) {
  const auto rows = block_operations_of(config::find_preset(preset), bf16(2, 2048));
  return 1e9 * of(rows, operation, pass).bytes / 4096 / bytes_per_second;
}

TEST(OperationCosts, OfQwen3AreThoseCountedByHand) {
  // D 4096, q 4096, kv 1024, F 12288 of 8B; D 1024, q 2048, kv 1024, F 3072 of 0.6B.
  EXPECT_NEAR(ns("qwen3-8b", Operation::add_norm, Pass::forward), 18 * 4096 / 4.3e3, 1e-9);
  EXPECT_NEAR(ns("qwen3-0.6b", Operation::add_norm, Pass::forward), 4.3, 0.05);
  EXPECT_NEAR(ns("qwen3-8b", Operation::rotation, Pass::forward), 4.8, 0.05);
  EXPECT_NEAR(ns("qwen3-0.6b", Operation::rotation, Pass::forward), 2.9, 0.05);
  EXPECT_NEAR(ns("qwen3-8b", Operation::activation, Pass::forward), 17, 0.5);
  EXPECT_NEAR(ns("qwen3-0.6b", Operation::activation, Pass::forward), 4.3, 0.05);
  EXPECT_NEAR(ns("qwen3-8b", Operation::activation, Pass::backward), 29, 0.5);
  EXPECT_NEAR(ns("qwen3-0.6b", Operation::activation, Pass::backward), 7.1, 0.05);
  EXPECT_NEAR(ns("qwen3-8b", Operation::rotation, Pass::backward), 7.1, 0.05);
  EXPECT_NEAR(ns("qwen3-0.6b", Operation::rotation, Pass::backward), 4.3, 0.05);
  EXPECT_NEAR(ns("qwen3-8b", Operation::add_norm, Pass::backward), 15, 0.5);
}

TEST(OperationCosts, OfTheResidualsSumAreAReadOfTheProductWhereAGpuAddsNothingElseToIt) {
  const auto of_forward = [](const char* preset, const MicrobatchShape& shape) {
    const auto rows = block_operations_of(config::find_preset(preset), shape);
    return std::pair(of(rows, Operation::add_norm, Pass::forward).bytes, of(rows, Operation::down_product, Pass::forward).bytes);
  };
  MicrobatchShape on_gpu = bf16(1, 4096);
  on_gpu.by = ComputedBy::gpu;
  const std::vector<std::tuple<const char*, double, bool>> models{{"qwen3-8b", 4096, true}, {"gpt2-124m", 768, false}};
  for (const auto& [preset, D, within] : models) {
    const auto apart = of_forward(preset, bf16(1, 4096)), got = of_forward(preset, on_gpu);
    EXPECT_EQ(apart.first - got.first, within ? 6 * 4096 * D : 0) << preset;
    EXPECT_EQ(got.second - apart.second, within ? 2 * 4096 * D : 0) << preset;
  }
  on_gpu.share = {0, 2};
  MicrobatchShape on_cores = on_gpu;
  on_cores.by = ComputedBy::cores;
  EXPECT_EQ(of_forward("qwen3-8b", on_gpu), of_forward("qwen3-8b", on_cores));
}

TEST(OperationCosts, OfProductsAreTheirWeightsTwiceForEveryRow) {
  const config::ModelSettings model = config::find_preset("qwen3-8b");
  const auto rows = block_operations_of(model, bf16(1, 4096));
  double weights = 0, forward = 0, backward = 0;
  for (const Product& product : block_products(model, block_kind(model, 1))) {
    weights += product.weights();
    forward += of(rows, product.operation, Pass::forward).flops;
    backward += of(rows, product.operation, Pass::input_gradient).flops;
    backward += of(rows, product.operation, Pass::weight_gradient).flops;
  }
  EXPECT_EQ(weights, 4096.0 * (6144 + 4096 + 3 * 12288));
  EXPECT_EQ(forward, 2 * 4096 * weights);
  EXPECT_EQ(backward, 2 * forward);
  EXPECT_NEAR(1e9 * forward / 4096 / flops_per_second, 488, 0.5);
  // x, y and the weights in bf16; the weights' gradient in fp32.
  const Work down = of(rows, Operation::down_product, Pass::forward);
  EXPECT_EQ(down.bytes, 2.0 * (4096 * 12288.0 + 4096 * 4096.0 + 4096 * 12288.0));
  EXPECT_EQ(of(rows, Operation::down_product, Pass::weight_gradient).bytes, down.bytes + 2.0 * 4096 * 12288);
}

TEST(OperationCosts, OfAttentionAreHalfOfTheSquareAndFiveProductsBackward) {
  const auto rows = block_operations_of(config::find_preset("qwen3-8b"), bf16(1, 4096));
  const Work forward = of(rows, Operation::attention, Pass::forward),
             backward = of(rows, Operation::attention, Pass::backward);
  EXPECT_EQ(forward.flops, 2 * 2 * 4096.0 * 4096 * 4096 / 2);
  EXPECT_EQ(backward.flops, 2.5 * forward.flops);
  EXPECT_NEAR(1e9 * (forward.flops + backward.flops) / 4096 / 600e12, 196, 0.5);
  EXPECT_EQ(forward.bytes, 2.0 * 4096 * (2 * 4096 + 2 * 1024));
}

TEST(OperationCosts, OfGpt2HaveBiasesAndNoRotation) {
  const config::ModelSettings model = config::find_preset("gpt2-124m");
  const auto rows = block_operations_of(model, bf16(8, 1024));
  for (const OperationCost& row : rows) EXPECT_NE(row.operation, Operation::rotation);
  const double M = 8192, D = 768, outputs = 3 * D + D + 4 * D + D;
  EXPECT_EQ(of(rows, Operation::bias, Pass::forward).bytes, 4 * M * 2 * D);  // the others' are added by the product
  EXPECT_EQ(of(rows, Operation::bias, Pass::backward).bytes, 2 * M * outputs);
  EXPECT_EQ(of(rows, Operation::activation, Pass::forward).bytes, 4 * M * 4 * D);
  EXPECT_EQ(of(rows, Operation::activation, Pass::backward).bytes, 6 * M * 4 * D);
  EXPECT_EQ(of(rows, Operation::add_norm, Pass::forward).bytes, 18 * M * D);
  const auto outer = outer_operations(model, bf16(8, 1024));
  EXPECT_EQ(of(outer, Operation::embedding, Pass::backward).bytes, 4 * M * D + 4 * (50257.0 + 1024) * D);
}

TEST(OperationCosts, OfTheLossAreThreePassesOverItsLogits) {
  const double V = 151936, M = 4096;
  const auto rows = outer_operations(config::find_preset("qwen3-8b"), bf16(1, 4096));
  EXPECT_EQ(of(rows, Operation::cross_entropy, Pass::both).bytes, 12 * M * V);
  EXPECT_NEAR(1e9 * of(rows, Operation::cross_entropy, Pass::both).bytes / M / bytes_per_second, 424, 0.5);
  const double product = of(rows, Operation::output_product, Pass::forward).flops;
  EXPECT_NEAR(3e9 * product / M / flops_per_second, 4730, 5);
}

TEST(OperationCosts, OfTheOutputProductCountTheWeightsForEveryChunkOfRows) {
  // 0.6B keeps gradients where 8B of as many rows keeps logits.
  const config::ModelSettings small = config::find_preset("qwen3-0.6b"), large = config::find_preset("qwen3-8b");
  ASSERT_EQ(output_loss_keep({4096, small.hidden, small.vocab, 1, 2}), LossKeep::logits);
  ASSERT_EQ(output_loss_keep({8192, small.hidden, small.vocab, 1, 2}), LossKeep::gradients);
  const double M = 8192, D = 1024, V = 151936, chunks = 16;
  const auto kept = outer_operations(small, bf16(2, 4096));
  EXPECT_EQ(of(kept, Operation::output_product, Pass::forward).bytes, 2 * M * D + chunks * 2 * V * D + 4 * M * V);
  EXPECT_EQ(of(kept, Operation::output_product, Pass::weight_gradient).bytes,
            2 * M * V + 2 * M * D + (2 * chunks - 1) * 4 * V * D);
  EXPECT_EQ(of(kept, Operation::logits_dtype, Pass::both).bytes, 6 * M * V);
  MicrobatchShape on_gpu = bf16(2, 4096);  // 1 GiB holds 1766 rows of fp32 logits: chunks of 1664
  on_gpu.by = ComputedBy::gpu;
  EXPECT_EQ(of(outer_operations(small, on_gpu), Operation::output_product, Pass::forward).bytes,
            2 * M * D + 5 * 2 * V * D + 4 * M * V);
  const auto logits = outer_operations(large, bf16(1, 4096));
  EXPECT_EQ(of(logits, Operation::logits_dtype, Pass::both).bytes, (8 + 6 + 6 + 6) * 4096 * V);
}

TEST(OperationCosts, OfABlockWithoutAttentionAreThoseOfItsFeedForward) {
  const config::ModelSettings model = config::find_preset("qwen3-8b");
  BlockKind kind = block_kind(model, 1);
  const auto whole = block_operations(model, kind, bf16(1, 4096));
  kind.attention = BlockKind::Attention::none;
  const auto part = block_operations(model, kind, bf16(1, 4096));
  for (const OperationCost& row : part) {
    EXPECT_NE(row.operation, Operation::attention);
    EXPECT_NE(row.operation, Operation::rotation);
    const Work& both = of(whole, row.operation, row.pass);
    EXPECT_EQ(row.work.flops, both.flops);
    if (row.operation != Operation::add_norm) {
      EXPECT_EQ(row.work.bytes, both.bytes);
    }
  }
  EXPECT_EQ(block_products(model, kind).size(), 2u);
  EXPECT_EQ(of(part, Operation::add_norm, Pass::backward).bytes, of(whole, Operation::add_norm, Pass::backward).bytes / 2);
}

TEST(OperationCosts, OfAdamWAreThirtyBytesForAWeightInBf16) {
  const std::vector<SummedElements> one{{1000, {}}};
  const OptimizerShape adamw = shape_of(config::Optimizer::adamw);
  EXPECT_EQ(of(update_operations(one, adamw.update_bytes(2)), Operation::adamw, Pass::both).bytes, 30000);
  EXPECT_EQ(of(update_operations(one, adamw.update_bytes(4)), Operation::adamw, Pass::both).bytes, 28000);
}

double sum_bytes(std::int64_t microbatches, Addition addition = Addition::integers) {
  SummedElements range{1000, {}};
  range.sum.addition = addition;
  range.sum.shares = {microbatches};
  return of(update_operations({range}, 0), Operation::gradient_sum, Pass::both).bytes;
}

TEST(OperationCosts, OfGradientSumsAreIntegersFromTheThirdLeafOn) {
  EXPECT_EQ(sum_bytes(1), 0);
  EXPECT_EQ(sum_bytes(2), 12000);
  EXPECT_EQ(sum_bytes(3), (12 + 2 * 20 + 12) * 1000);
  EXPECT_EQ(sum_bytes(8), (12 + 7 * 20 + 12) * 1000);
  EXPECT_EQ(sum_bytes(8, Addition::floats), 7 * 4 * 1000) << "products add";
}

TEST(OperationCosts, CountATiedTableTwicePerMicrobatch) {
  const config::ModelSettings model = config::find_preset("qwen3-0.6b");
  const auto ranges = summed_elements(model, 4);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[1].elements, model.vocab * model.hidden);
  EXPECT_EQ(ranges[1].sum.own_leaves(), 8);
  EXPECT_EQ(ranges[0].elements + ranges[1].elements, parameter_count(model));
  EXPECT_EQ(summed_elements(config::find_preset("qwen3-8b"), 4).size(), 1u);
}

TEST(OperationCosts, AddUpToSixPerWeightTokenAndAttention) {
  for (const char* preset : {"qwen3-0.6b", "qwen3-8b", "gpt2-124m", "llama3-8b", "qwen2.5-0.5b"}) {
    const config::ModelSettings model = config::find_preset(preset);
    const MicrobatchShape shape = bf16(2, 512);
    double weights = 0;
    for (const Product& product : block_products(model, block_kind(model, 1))) weights += product.weights();
    const double attention = 3.5 * 2 * 1024.0 * 512 * static_cast<double>(model.heads * model.head_dim);
    EXPECT_EQ(total(block_operations_of(model, shape)).flops, 6 * 1024 * weights + attention) << preset;
    EXPECT_EQ(total(outer_operations(model, shape)).flops, 6 * 1024.0 * static_cast<double>(model.vocab * model.hidden))
        << preset;
    for (const auto& rows : {block_operations_of(model, shape), outer_operations(model, shape)})
      for (const OperationCost& row : rows) EXPECT_GT(row.work.bytes, 0) << preset;
  }
}

TEST(OperationCosts, OfTensorParallelRanksShareTheProducts) {
  const config::ModelSettings model = config::find_preset("qwen3-8b");
  MicrobatchShape half = bf16(1, 4096);
  half.share = {0, 2};
  half.sequence = SequenceParallel::on;
  const auto whole = block_operations_of(model, bf16(1, 4096)), part = block_operations_of(model, half);
  EXPECT_EQ(2 * total(part).flops, total(whole).flops);
  EXPECT_EQ(2 * of(part, Operation::add_norm, Pass::forward).bytes,
            of(whole, Operation::add_norm, Pass::forward).bytes);
}

}  // namespace
}  // namespace troika::shape
