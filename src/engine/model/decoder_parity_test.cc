// The decoder with its hand-written backward against the reference in double with autograd.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/decoder_test_support.h"
#include "model/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

Weights leaves_of(const std::vector<Decoder>& decoders) {
  Weights weights;
  for (const auto& [name, value] : parameters_by_name(decoders))
    weights.emplace(name, value.to(at::kDouble).clone().set_requires_grad(true));
  return weights;
}

tensor::Sizes shape_of(const Tokens& tokens) {
  return {static_cast<std::int64_t>(tokens.sequences.size()), tokens.sequences.front().length};
}

struct Expected {
  double loss_sum = 0;
  Weights weights;  // with gradients
};

Expected expected(const config::ModelSettings& model, const std::vector<Decoder>& decoders, const Tokens& tokens) {
  Expected e;
  e.weights = leaves_of(decoders);
  const at::Tensor sum = reference_loss_sum(model, e.weights, tokens.ids_M.view(shape_of(tokens)),
                                            tokens.targets_M.view(shape_of(tokens)));
  e.loss_sum = sum.item<double>();
  reference_backward(sum / static_cast<double>(tokens.M));
  return e;
}

void expect_parity(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                   const std::vector<std::vector<int>>& all_cuts) {
  double worst = 0, worst_loss = 0;
  std::string worst_name;
  const Tokens tokens = make_tokens(model, B, T, silent, tensor::Device());
  for (const auto& cuts : all_cuts) {
    const std::vector<Decoder> decoders = make_decoders(model, cuts, options_for(T));
    perturb_vectors(decoders);
    const Expected want = expected(model, decoders, tokens);
    const Gradients got = forward_backward(decoders, tokens, 42.0);
    const auto gradients = gradients_by_name(decoders, got);
    const double loss_error = std::abs(got.loss.loss - want.loss_sum) / want.loss_sum;
    EXPECT_LT(loss_error, 1e-5);
    EXPECT_EQ(got.loss.tokens, (tensor::theirs(tokens.targets_M) != -100).sum().item<std::int64_t>());
    worst_loss = std::max(worst_loss, loss_error);
    EXPECT_EQ(want.weights.size(), shape::all_parameters(model).size());
    for (const auto& [name, weight] : want.weights) {
      const double error = relative_error(gradients.at(name), weight.grad());
      EXPECT_LT(error, 1e-5) << name << ", " << cuts.size() - 1 << " parts";
      if (error > worst) {
        worst = error;
        worst_name = name;
      }
    }
  }
  testing::Test::RecordProperty("loss", fmt::format("{:.2e}", worst_loss));
  testing::Test::RecordProperty("gradients", fmt::format("{:.2e} {}", worst, worst_name));
}

const std::vector<std::vector<int>> one_two_and_three_parts{{0, 6}, {0, 3, 6}, {0, 2, 4, 6}, {0, 1, 5, 6}};

TEST(DecoderParity, TiedModelInOneTwoAndThreeParts) {
  expect_parity(small_model(true), 2, 24, 0, one_two_and_three_parts);
}

TEST(DecoderParity, UntiedModelInOneTwoAndThreeParts) {
  expect_parity(small_model(false), 2, 24, 0, one_two_and_three_parts);
}

TEST(DecoderParity, TokensWithoutALoss) {
  expect_parity(small_model(true), 2, 24, 3, {{0, 6}, {0, 2, 6}});
  expect_parity(small_model(false), 2, 24, 2, {{0, 6}});
}

TEST(DecoderParity, OddSizes) {
  config::ModelSettings m = small_model(true);
  m.layers = 3;
  m.hidden = 35;
  m.heads = 6;
  m.kv_heads = 3;
  m.head_dim = 10;
  m.ffn = 77;
  m.vocab = 101;
  expect_parity(m, 3, 13, 0, {{0, 5}, {0, 2, 5}});
  m.tie_embeddings = false;
  m.kv_heads = 1;
  m.rope_theta = 1e4;
  m.norm_eps = 1e-5;
  expect_parity(m, 1, 17, 5, {{0, 5}, {0, 1, 4, 5}});
}

TEST(DecoderParity, Qwen2InOneTwoAndThreeParts) {
  expect_parity(small_qwen2(true), 2, 24, 0, {{0, 6}, {0, 1, 5, 6}});
  expect_parity(small_qwen2(false), 2, 24, 3, {{0, 6}, {0, 2, 4, 6}});
}

TEST(DecoderParity, LlamaInOneTwoAndThreeParts) {
  expect_parity(small_llama(true), 2, 24, 0, {{0, 6}, {0, 1, 5, 6}});
  expect_parity(small_llama(false), 2, 24, 3, {{0, 6}, {0, 2, 4, 6}});
}

TEST(DecoderParity, MistralInOneTwoAndThreeParts) {
  expect_parity(small_mistral(true), 2, 24, 0, {{0, 6}, {0, 1, 5, 6}});
  expect_parity(small_mistral(false), 2, 24, 3, {{0, 6}, {0, 2, 4, 6}});
}

TEST(DecoderParity, MistralWithAWindow) {
  config::ModelSettings m = small_mistral(false);
  m.sliding_window = 6;
  expect_parity(m, 2, 24, 3, {{0, 6}, {0, 2, 4, 6}});
}

TEST(DecoderParity, GemmaSmolLM3AndGraniteInOneTwoAndThreeParts) {
  for (const bool tied : {true, false}) {
    for (const config::ModelSettings& m : {small_gemma(tied), small_smollm3(tied), small_granite(tied)})
      expect_parity(m, 2, 24, tied ? 0 : 3, {{0, 6}, {0, 2, 4, 6}});
  }
}

TEST(DecoderParity, OtherFamiliesOfOddSizes) {
  for (config::ModelSettings m : {small_qwen2(true), small_llama(false), small_gemma(true), small_granite(true)}) {
    m.layers = 3;
    m.hidden = 35;
    m.heads = 6;
    m.kv_heads = 3;
    m.head_dim = 10;
    m.ffn = 77;
    m.vocab = 101;
    expect_parity(m, 3, 13, 0, {{0, 5}, {0, 2, 5}});
    m.kv_heads = 1;
    expect_parity(m, 1, 17, 5, {{0, 5}, {0, 1, 4, 5}});
  }
}

TEST(DecoderParity, Gpt2InOneTwoAndThreeParts) {
  expect_parity(small_gpt2(true), 2, 24, 0, {{0, 6}, {0, 3, 6}, {0, 1, 5, 6}});
  expect_parity(small_gpt2(false), 2, 24, 3, {{0, 6}, {0, 2, 4, 6}});
}

TEST(DecoderParity, Gpt2OfOddSizesThatUsesAllItsPositions) {
  config::ModelSettings m = small_gpt2(true);
  m.layers = 3;
  m.heads = m.kv_heads = 5;
  m.head_dim = 7;
  m.hidden = 35;
  m.ffn = 77;
  m.vocab = 101;
  m.max_positions = 13;
  expect_parity(m, 3, 13, 0, {{0, 5}, {0, 2, 5}});
  m.tie_embeddings = false;
  expect_parity(m, 1, 2, 0, {{0, 1, 4, 5}});
}

TEST(DecoderParity, OneHeadPerKeyHeadAndOneLayer) {
  config::ModelSettings m = small_model(true);
  m.layers = 1;
  m.kv_heads = 4;
  expect_parity(m, 2, 9, 0, {{0, 3}, {0, 1, 2, 3}});
}

TEST(DecoderParity, OneSequenceOfTwoPositions) { expect_parity(small_model(true), 1, 2, 0, {{0, 6}}); }

TEST(DecoderParity, CutsChangeNoBit) {
  for (const config::ModelSettings& m : small_models()) {
    const Tokens tokens = make_tokens(m, 2, 24, 0, tensor::Device());
    const std::vector<Decoder> whole = make_decoders(m, {0, 6}, options_for(24));
    const Gradients want = forward_backward(whole, tokens, 0.0);
    const auto expected_gradients = gradients_by_name(whole, want);
    for (const auto& cuts : one_two_and_three_parts) {
      const std::vector<Decoder> parts = make_decoders(m, cuts, options_for(24));
      const Gradients got = forward_backward(parts, tokens, 0.0);
      EXPECT_EQ(got.loss.loss, want.loss.loss);
      for (const auto& [name, gradient] : gradients_by_name(parts, got))
        EXPECT_TRUE(at::equal(gradient, expected_gradients.at(name))) << name;
    }
  }
}

TEST(DecoderParity, ComputingAgainWhatIsCheapChangesNoBit) {
  for (const config::ModelSettings& m : small_models()) {
    const Tokens tokens = make_tokens(m, 2, 11, 3, tensor::Device());
    const std::vector<Decoder> decoders = make_decoders(m, {0, 6}, options_for(11));
    const Gradients all = forward_backward(decoders, tokens, 0.0, shape::SavedActivations::all);
    const Gradients lean = forward_backward(decoders, tokens, 42.0, shape::SavedActivations::selective);
    EXPECT_EQ(lean.loss.loss, all.loss.loss);
    for (std::size_t i = 0; i < all.leaves[0].size(); ++i)
      EXPECT_TRUE(at::equal(lean.leaves[0][i], all.leaves[0][i])) << i;
  }
}

TEST(DecoderParity, GradientsFollowTheLossScale) {
  for (const config::ModelSettings& m : {small_model(true), small_gpt2(true)}) {
    Tokens tokens = make_tokens(m, 2, 11, 0, tensor::Device());
    const std::vector<Decoder> decoders = make_decoders(m, {0, 6}, options_for(11));
    const Gradients once = forward_backward(decoders, tokens, 0.0);
    tokens.loss_scale = 1024;
    const Gradients scaled = forward_backward(decoders, tokens, 0.0);
    EXPECT_EQ(scaled.loss.loss, once.loss.loss);
    for (std::size_t i = 0; i < once.leaves[0].size(); ++i)
      EXPECT_TRUE(at::equal(scaled.leaves[0][i], once.leaves[0][i] * 1024)) << i;  // a power of two rounds nothing
  }
}

}  // namespace
}  // namespace troika::model
