// The decoder on a CUDA device against the same decoder on the CPU.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/decoder.h"
#include "model/decoder_test_support.h"
#include "tensor/device.h"

namespace troika::model {
namespace {

constexpr double gradient_tolerance = 1e-3, loss_tolerance = 1e-4;  // relative

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor exact = want.to(at::kDouble), difference = got.cpu().to(at::kDouble) - exact;
  return difference.abs().max().item<double>() / exact.abs().max().item<double>();
}

void expect_agreement(const config::ModelSettings& model, std::int64_t B, std::int64_t T, std::int64_t silent,
                      const std::vector<int>& cuts) {
  const c10::Device cuda = tensor::pick_device("cuda", 0), cpu(at::kCPU);
  const std::vector<Stage> here = make_stages(model, T, cuts, cpu), there = make_stages(model, T, cuts, cuda);
  for (std::size_t i = 0; i < here.size(); ++i) {
    EXPECT_TRUE(at::equal(there[i].parameters().cpu(), here[i].parameters()));
  }
  const Gradients want = forward_backward(here, make_tokens(model, B, T, silent, cpu), 42.0);
  const Gradients got = forward_backward(there, make_tokens(model, B, T, silent, cuda), 42.0);
  tensor::synchronize(cuda);

  const double loss_error = std::abs(got.loss.loss - want.loss.loss) / want.loss.loss;
  EXPECT_LT(loss_error, loss_tolerance);
  EXPECT_EQ(got.loss.tokens, want.loss.tokens);
  double worst = 0;
  for (const auto& info : all_parameters(model)) {
    const at::Tensor gradient = gradient_of(there, got, info.name);
    EXPECT_TRUE(gradient.is_cuda()) << info.name;
    const double error = relative_error(gradient, gradient_of(here, want, info.name));
    EXPECT_LT(error, gradient_tolerance) << info.name;
    worst = std::max(worst, error);
  }
  testing::Test::RecordProperty("loss", fmt::format("{:.2e}", loss_error));
  testing::Test::RecordProperty("gradients", fmt::format("{:.2e}", worst));
}

TEST(DecoderGpu, TiedModelAgreesWithTheCpu) { expect_agreement(small_model(true), 2, 24, 0, {0, 6}); }

TEST(DecoderGpu, UntiedModelInThreeStagesAgreesWithTheCpu) {
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

TEST(DecoderGpu, HeadLogitsAgreeWithTheCpu) {
  const config::ModelSettings m = small_model(true);
  const c10::Device cuda = tensor::pick_device("cuda", 0);
  const auto logits = [&](const c10::Device& device) {
    const std::vector<Stage> stages = make_stages(m, 12, {0, 5, 6}, device);
    const at::Tensor x_MD = stages[0].forward({}, make_tokens(m, 2, 12, 0, device), Keep::nothing).y_MD;
    return head_logits(m, stages[1].segment_parameters(0), x_MD);
  };
  EXPECT_LT(relative_error(logits(cuda), logits(at::kCPU)), gradient_tolerance);
}

}  // namespace
}  // namespace troika::model
