// M rows, D width, V vocabulary.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/output_loss.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

struct Case {
  std::int64_t M, D, V;
  std::int64_t every_silent;  // each so-manieth row carries no loss; 0: every row does
  double size = 1;            // of the activations
};

at::Tensor make_targets(const Case& c) {
  at::Tensor targets = random_ids("targets", c.M, c.V);
  if (c.every_silent > 0) {
    for (std::int64_t m = 0; m < c.M; m += c.every_silent) targets[m] = -100;
  }
  return targets;
}

// One row at a time: log of the sum of exponentials (shifted by the largest) minus the target's logit.
at::Tensor reference_loss(const at::Tensor& x, const at::Tensor& w, const at::Tensor& targets, std::int64_t* tokens) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::int64_t m = 0; m < x.size(0); ++m) {
    const auto target = targets[m].item<std::int64_t>();
    if (target == -100) continue;
    const at::Tensor logits = at::matmul(w, x[m]);
    const double shift = logits.max().item<double>();
    sum = sum + at::log(at::exp(logits - shift).sum()) + shift - logits[target];
    ++*tokens;
  }
  return sum;
}

TEST(OutputLossParity, LossAndGradientsAgreeWithAutograd) {
  Parity parity;
  for (const Case& c : {Case{1, 1, 1, 0}, Case{1, 8, 5, 0}, Case{48, 64, 259, 0}, Case{33, 17, 101, 3},
                        Case{20, 9, 2, 2}, Case{48, 64, 259, 5, 10.0}}) {
    const at::Tensor x = random_normal("x", {c.M, c.D}).mul_(c.size), w = random_normal("w", {c.V, c.D});
    const at::Tensor targets = make_targets(c), x_ref = leaf(x), w_ref = leaf(w);
    std::int64_t tokens = 0;
    const at::Tensor loss_ref = reference_loss(x_ref, w_ref, targets, &tokens);
    const double scale = 1.0 / static_cast<double>(c.M);
    differentiate(loss_ref, at::scalar_tensor(scale, at::kDouble));

    OutputLossSaved saved;
    const LossSum sum = output_loss_forward(x, w, targets, &saved);
    EXPECT_EQ(sum.tokens, tokens);
    parity.compare("loss", sum.loss, loss_ref.item<double>());
    EXPECT_EQ(saved.bytes(), c.M * c.V * 4);
    parity.compare("dx", output_loss_backward_input(w, targets, scale, saved), x_ref.grad());
    const at::Tensor dw = at::full({c.V, c.D}, 42.0f);
    output_loss_backward_weight(x, saved, dw);
    parity.compare("dw", dw, w_ref.grad());
  }
}

TEST(OutputLossParity, SilentRowsGetNoLossAndNoGradient) {
  const at::Tensor x = random_normal("x", {6, 8}), w = random_normal("w", {11, 8});
  const at::Tensor targets = at::full({6}, -100, at::kLong);
  OutputLossSaved saved;
  const LossSum sum = output_loss_forward(x, w, targets, &saved);
  EXPECT_EQ(sum.loss, 0);
  EXPECT_EQ(sum.tokens, 0);
  EXPECT_TRUE(at::equal(output_loss_backward_input(w, targets, 1.0, saved), at::zeros({6, 8})));
  const at::Tensor dw = at::full({11, 8}, 42.0f);
  output_loss_backward_weight(x, saved, dw);
  EXPECT_TRUE(at::equal(dw, at::zeros({11, 8})));
}

TEST(OutputLossParity, AUniformHeadCostsTheLogarithmOfTheVocabulary) {
  const LossSum sum =
      output_loss_forward(random_normal("x", {10, 4}), at::zeros({259, 4}), random_ids("t", 10, 259), nullptr);
  EXPECT_NEAR(sum.loss / 10, std::log(259.0), 1e-6);
}

TEST(OutputLossParity, LogitsInTheThousandsStayFinite) {
  const at::Tensor x = at::full({2, 1}, 1000.0f), w = at::tensor({5.f, -5.f, 4.f}).view({3, 1});
  const at::Tensor targets = at::tensor({0, 1}, at::kLong);
  OutputLossSaved saved;
  const LossSum sum = output_loss_forward(x, w, targets, &saved);
  EXPECT_DOUBLE_EQ(sum.loss, 10000.0);
  const at::Tensor dx = output_loss_backward_input(w, targets, 1.0, saved);
  EXPECT_FLOAT_EQ(dx[0][0].item<float>(), 0.0f);
  EXPECT_FLOAT_EQ(dx[1][0].item<float>(), 10.0f);
}

TEST(OutputLossParity, GivesTheSameLossWithAndWithoutSaving) {
  const at::Tensor x = random_normal("x", {33, 16}), w = random_normal("w", {101, 16}), t = random_ids("t", 33, 101);
  OutputLossSaved saved;
  EXPECT_EQ(output_loss_forward(x, w, t, &saved).loss, output_loss_forward(x, w, t, nullptr).loss);
}

}  // namespace
}  // namespace troika::kernels
