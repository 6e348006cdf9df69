#include "model/stage.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "model/decoder_test_support.h"

namespace troika::model {
namespace {

std::map<std::string, at::Tensor> parameters_of(const std::vector<Stage>& stages) {
  std::map<std::string, at::Tensor> all;
  for (const Stage& stage : stages) {
    for (const Slot& slot : stage.layout().slots) {
      const at::Tensor view = stage.view(stage.parameters(), slot);
      const auto [place, fresh] = all.emplace(slot.info.name, view);
      EXPECT_TRUE(fresh || at::equal(place->second, view)) << slot.info.name;  // a tied copy has the same bits
    }
  }
  return all;
}

TEST(Initialise, GivesEveryParameterTheSameBitsForAnyStages) {
  for (const bool tied : {true, false}) {
    const config::ModelSettings m = small_model(tied);
    const auto whole = parameters_of(make_stages(m, 24, {0, 6}, at::kCPU));
    EXPECT_EQ(whole.size(), all_parameters(m).size());
    for (const std::vector<int>& cuts : {std::vector<int>{0, 3, 6}, {0, 1, 5, 6}, {0, 1, 2, 3, 4, 5, 6}}) {
      const auto cut = parameters_of(make_stages(m, 24, cuts, at::kCPU));
      ASSERT_EQ(cut.size(), whole.size());
      for (const auto& [name, value] : whole) EXPECT_TRUE(at::equal(cut.at(name), value)) << name;
    }
  }
}

TEST(Initialise, DrawsMatricesFromANormalAndSetsNormsToOne) {
  const auto all = parameters_of(make_stages(small_model(false), 24, {0, 6}, at::kCPU));
  for (const auto& [name, value] : all) {
    if (value.dim() == 1) {
      EXPECT_TRUE(at::equal(value, at::ones_like(value))) << name;
      continue;
    }
    const double five_sigma = 5 / std::sqrt(static_cast<double>(value.numel()));
    EXPECT_NEAR(value.mean().item<double>(), 0, 0.02 * five_sigma) << name;
    EXPECT_NEAR(value.std().item<double>(), 0.02, 0.02 * five_sigma) << name;
  }
  EXPECT_FALSE(at::equal(all.at("model.layers.0.mlp.up_proj.weight"), all.at("model.layers.1.mlp.up_proj.weight")));
}

TEST(Initialise, DependsOnTheSeed) {
  const config::ModelSettings m = small_model(true);
  std::vector<Stage> a = make_stages(m, 24, {0, 6}, at::kCPU), b = make_stages(m, 24, {0, 6}, at::kCPU);
  initialise(b.front(), 8, m.init_std);
  EXPECT_FALSE(at::equal(a.front().parameters(), b.front().parameters()));
}

TEST(Stage, SavesNothingWhenNothingIsToBeKept) {
  const config::ModelSettings m = small_model(true);
  const Tokens tokens = make_tokens(m, 2, 5, 0, at::kCPU);
  const std::vector<Stage> stages = make_stages(m, 5, {0, 6}, at::kCPU);
  const StageResult kept = stages[0].forward({}, tokens, Keep::for_backward);
  const StageResult dropped = stages[0].forward({}, tokens, Keep::nothing);
  EXPECT_EQ(dropped.saved_bytes(), 0);
  EXPECT_GT(kept.saved_bytes(), 0);
  EXPECT_EQ(kept.loss.loss, dropped.loss.loss);
  EXPECT_EQ(kept.loss.tokens, 10);
}

TEST(Stage, BackwardWritesEveryGradientAndAddsToNone) {
  for (const bool tied : {true, false}) {
    const config::ModelSettings m = small_model(tied);
    const Tokens tokens = make_tokens(m, 2, 5, 0, at::kCPU);
    const std::vector<Stage> stages = make_stages(m, 5, {0, 2, 6}, at::kCPU);
    const Gradients once = forward_backward(stages, tokens, 0.0), again = forward_backward(stages, tokens, 42.0);
    for (std::size_t i = 0; i < stages.size(); ++i) EXPECT_TRUE(at::equal(once.leaves[i], again.leaves[i])) << i;
  }
}

TEST(Stage, HoldsNoActivationsAfterBackward) {
  const config::ModelSettings m = small_model(true);
  const Tokens tokens = make_tokens(m, 2, 5, 0, at::kCPU);
  const std::vector<Stage> stages = make_stages(m, 5, {0, 6}, at::kCPU);
  StageResult result = stages[0].forward({}, tokens, Keep::for_backward);
  const std::int64_t before = result.saved_bytes();
  stages[0].backward_input({}, tokens, result);
  EXPECT_LE(result.saved_bytes(), 2 * before);
  stages[0].backward_weight(at::empty({stages[0].layout().gradient_elements}), tokens, result);
  EXPECT_EQ(result.saved_bytes(), 0);
}

TEST(Stage, SavesTheBytesThatTheLayoutForetells) {
  const config::ModelSettings m = small_model(true);
  const Tokens tokens = make_tokens(m, 2, 5, 0, at::kCPU);
  const std::vector<Stage> stages = make_stages(m, 5, {0, 1, 2, 3, 4, 5, 6}, at::kCPU);
  const std::vector<std::int64_t> foretold = segment_saved_bytes(m, 2, 5);
  at::Tensor x_MD;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageResult result = stages[i].forward(x_MD, tokens, Keep::for_backward);
    EXPECT_EQ(result.saved_bytes(), foretold[i]) << i;
    x_MD = result.y_MD;
  }
  const std::int64_t M = 10, D = 64, A = 64, K = 32, F = 192, N = 4;
  // Four of width D, q k v before and q k after rotation, the output of attention, its lse, gate and up, their product,
  // and the inverse roots of two norms and of the heads.
  EXPECT_EQ(foretold[1], 4 * M * (4 * D + (A + 2 * K) + (A + K) + A + N + 2 * F + F + 2 + (N + 2)));
}

}  // namespace
}  // namespace troika::model
