// The decoder on a CUDA device against the same decoder on the CPU.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/cached_decoder.h"
#include "model/decoder_test_support.h"
#include "tensor/device.h"

namespace troika::model {
namespace {

constexpr double gradient_tolerance = 1e-3, loss_tolerance = 1e-4;  // relative

void expect_agreement(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                      const std::vector<int>& cuts) {
  const c10::Device cuda = tensor::pick_device("cuda", 0), cpu(at::kCPU);
  const auto here = make_decoders(model, cuts, options_for(T, cpu));
  const auto there = make_decoders(model, cuts, options_for(T, cuda));
  const auto parameters = parameters_by_name(here);
  for (const auto& [name, value] : parameters_by_name(there)) {
    EXPECT_TRUE(at::equal(value.cpu(), parameters.at(name))) << name;
  }
  const Gradients want = forward_backward(here, make_tokens(model, B, T, silent, cpu), 42.0);
  const Gradients got = forward_backward(there, make_tokens(model, B, T, silent, cuda), 42.0);
  tensor::synchronize(cuda);

  const double loss_error = std::abs(got.loss.loss - want.loss.loss) / want.loss.loss;
  EXPECT_LT(loss_error, loss_tolerance);
  EXPECT_EQ(got.loss.tokens, want.loss.tokens);
  double worst = 0;
  const auto exact = gradients_by_name(here, want);
  for (const auto& [name, gradient] : gradients_by_name(there, got)) {
    EXPECT_TRUE(gradient.is_cuda()) << name;
    const double error = relative_error(gradient, exact.at(name));
    EXPECT_LT(error, gradient_tolerance) << name;
    worst = std::max(worst, error);
  }
  testing::Test::RecordProperty("loss", fmt::format("{:.2e}", loss_error));
  testing::Test::RecordProperty("gradients", fmt::format("{:.2e}", worst));
}

TEST(DecoderGpu, TiedModelAgreesWithTheCpu) { expect_agreement(small_model(true), 2, 24, 0, {0, 6}); }

TEST(DecoderGpu, UntiedModelInThreePartsAgreesWithTheCpu) {
  expect_agreement(small_model(false), 2, 24, 3, {0, 2, 4, 6});
}

TEST(DecoderGpu, OddSizesAgreeWithTheCpu) {
  config::ModelSettings m = small_model(true);
  m.layers = 2;
  m.hidden = 35;
  m.heads = 6;
  m.kv_heads = 3;
  m.head_dim = 10;
  m.ffn = 77;
  m.vocab = 101;
  expect_agreement(m, 3, 13, 0, {0, 2, 4});
}

TEST(DecoderGpu, Qwen2AndLlamaAgreeWithTheCpu) {
  expect_agreement(small_qwen2(true), 2, 24, 3, {0, 6});
  expect_agreement(small_llama(false), 2, 24, 0, {0, 2, 6});
}

TEST(DecoderGpu, Gpt2AgreesWithTheCpu) {
  expect_agreement(small_gpt2(true), 2, 24, 3, {0, 6});
  expect_agreement(small_gpt2(false), 2, 24, 0, {0, 2, 6});
}

TEST(DecoderGpu, LogitsWithACacheAgreeWithTheCpu) {
  for (const config::ModelSettings& m : small_models()) {
    const auto logits = [&](const c10::Device& device) {
      const auto decoders = make_decoders(m, {0, 6}, options_for(20, device));
      const CachedDecoder cached(m, decoders[0].parameters(), 20);
      KeyValueCache first = cached.new_cache(), second = cached.new_cache();
      cached.extend({{&first, {3, 1, 4, 1, 5}}, {&second, {9, 2}}});
      return cached.extend({{&first, {6}}, {&second, {5}}});
    };
    EXPECT_LT(relative_error(logits(tensor::pick_device("cuda", 0)), logits(at::kCPU)), gradient_tolerance);
  }
}

}  // namespace
}  // namespace troika::model
