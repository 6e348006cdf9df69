// M rows, D width, V vocabulary.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/output_loss.h"
#include "kernels/parity_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

const std::unique_ptr<const RowLoss> of_rows = row_loss(config::Loss::cross_entropy);

struct OutputLossCase {
  std::int64_t M, D, V;
  std::int64_t every_silent;             // each so-manieth row carries no loss; 0: every row does
  std::vector<std::int64_t> parts = {};  // rows of each part of the vocabulary; empty: one part
  double size = 1;                       // of the activations
  std::int64_t targets_below = 0;        // 0: anywhere in the vocabulary
};

at::Tensor make_targets(const OutputLossCase& c) {
  at::Tensor targets = random_ids("targets", c.M, c.targets_below > 0 ? c.targets_below : c.V);
  if (c.every_silent > 0) {
    for (std::int64_t m = 0; m < c.M; m += c.every_silent) targets[m] = -100;
  }
  return targets;
}

struct OutputLossReference {
  at::Tensor x, w, logits, loss;  // in double; the first three with a gradient
  std::int64_t tokens = 0;
};

// One row at a time: log of the sum of exponentials (shifted by the largest) minus the target's logit.
OutputLossReference reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& targets, double scale) {
  OutputLossReference r{leaf(x), leaf(w), {}, at::zeros({}, at::kDouble)};
  r.logits = at::matmul(r.x, r.w.t());
  r.logits.retain_grad();
  for (std::int64_t m = 0; m < x.size(0); ++m) {
    const auto target = targets[m].item<std::int64_t>();
    if (target == -100) continue;
    const double shift = r.logits[m].max().item<double>();
    r.loss = r.loss + at::log(at::exp(r.logits[m] - shift).sum()) + shift - r.logits[m][target];
    ++r.tokens;
  }
  differentiate(r.loss, at::scalar_tensor(scale, at::kDouble));
  return r;
}

struct Split {
  std::vector<std::int64_t> first, count;
  std::vector<OutputLossPart> parts;
  std::vector<OutputLossSaved> saved;
  OutputLossPart whole;
};

at::Tensor rows(const Split& split, std::size_t part, const at::Tensor& w) {
  return w.narrow(0, split.first[part], split.count[part]);
}

Split forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& targets, std::vector<std::int64_t> counts) {
  if (counts.empty()) counts = {w.size(0)};
  Split split{{}, counts, {}, std::vector<OutputLossSaved>(counts.size()), {}};
  std::int64_t first = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    split.first.push_back(first);
    split.parts.push_back(output_loss_forward(x, rows(split, i, w), targets, first, &split.saved[i]));
    first += counts[i];
  }
  split.whole = output_loss_join(split.parts);
  return split;
}

// A gradient of halves rounds once as it is saved, once in the exponent and once as it is written.
constexpr double output_loss_gradient_units = 2;

OpenRows pieces_of(const at::Tensor& dw_vD) {
  return [dw_vD](std::int64_t first, std::int64_t count) { return tensor::Destination{dw_vD.narrow(0, first, count)}; };
}

void expect_output_loss_parity(const OutputLossCase& c, at::ScalarType dtype) {
  const at::Tensor x = random_normal("x", {c.M, c.D}).mul_(c.size).to(dtype);
  const at::Tensor w = random_normal("w", {c.V, c.D}).to(dtype), targets = make_targets(c);
  const double scale = 1.0 / static_cast<double>(c.M);
  const OutputLossReference want = reference(x, w, targets, scale);

  Parity exact, stored(dtype, output_loss_gradient_units);
  Split got = forward(x, w, targets, c.parts);
  const LossSum sum = read_loss(of_rows->sum(got.whole, targets));
  EXPECT_EQ(sum.tokens, want.tokens);
  exact.compare("loss", sum.loss, want.loss.item<double>());
  at::Tensor dx_sum = at::zeros({c.M, c.D});
  const at::Tensor dw_all = at::full({c.V, c.D}, 42.0f);
  for (std::size_t i = 0; i < got.parts.size(); ++i) {
    const std::int64_t v = got.count[i];
    EXPECT_EQ(got.saved[i].bytes(), dtype == at::kFloat ? c.M * v * 4 : c.M * (v * 2 + 4));
    const at::Tensor dx =
        output_loss_backward_input(*of_rows, rows(got, i, w), targets, got.first[i], got.whole.lse_M, scale, got.saved[i]);
    const at::Tensor d = got.saved[i].logits_Mv;
    EXPECT_EQ(dx.scalar_type(), dtype);
    EXPECT_EQ(d.scalar_type(), dtype);
    EXPECT_EQ(got.saved[i].bytes(), d.nbytes());
    Parity(dtype).compare("dx of a part", dx, at::matmul(d.to(at::kDouble), rows(got, i, w).to(at::kDouble)));
    dx_sum.add_(dx);
    const at::Tensor dw = rows(got, i, dw_all);
    output_loss_backward_weight(x, got.saved[i], 7, pieces_of(dw));
    exact.compare("dw from the saved gradient", dw, at::matmul(d.to(at::kDouble).t(), x.to(at::kDouble)));
  }
  stored.compare("dx", dx_sum, want.x.grad());
  stored.compare("dw", dw_all, want.w.grad());
}

TEST(OutputLossParity, LossAndGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    expect_output_loss_parity({1, 1, 1, 0}, dtype);
    expect_output_loss_parity({1, 8, 5, 0}, dtype);
    expect_output_loss_parity({48, 64, 259, 0}, dtype);
    expect_output_loss_parity({33, 17, 101, 3}, dtype);
    expect_output_loss_parity({20, 9, 2, 2}, dtype);
    expect_output_loss_parity({48, 64, 259, 5, {}, 10.0}, dtype);
  }
}

TEST(OutputLossParity, PartsOfTheVocabularyAgreeWithTheWhole) {
  for (const at::ScalarType dtype : dtypes) {
    expect_output_loss_parity({48, 64, 259, 0, {130, 129}}, dtype);
    expect_output_loss_parity({33, 17, 101, 3, {1, 60, 1, 39}}, dtype);
    expect_output_loss_parity({20, 9, 2, 2, {1, 1}}, dtype);
    expect_output_loss_parity({1, 8, 5, 0, {2, 3}}, dtype);
    expect_output_loss_parity({48, 64, 259, 5, {200, 59}, 10.0}, dtype);
    expect_output_loss_parity({40, 16, 90, 4, {30, 30, 30}, 1.0, 30}, dtype);  // two parts hold no target
  }
}

TEST(OutputLossParity, JoiningOnePartGivesItself) {
  const OutputLossPart part{random_normal("lse", {5}), random_normal("target", {5})};
  const OutputLossPart joined = output_loss_join({part});
  EXPECT_TRUE(joined.lse_M.data() == tensor::Tensor(part.lse_M).data());
  EXPECT_TRUE(joined.target_M.data() == tensor::Tensor(part.target_M).data());
}

// Forward that keeps gradients, against autograd and against forward that keeps logits.
void expect_gradients_parity(const OutputLossCase& c, at::ScalarType dtype) {
  const at::Tensor x = random_normal("x", {c.M, c.D}).mul_(c.size).to(dtype);
  const at::Tensor w = random_normal("w", {c.V, c.D}).to(dtype), targets = make_targets(c);
  const double scale = 1.0 / static_cast<double>(c.M);
  const OutputLossReference want = reference(x, w, targets, scale);
  OutputLossSaved saved;
  const OutputLossPart part = output_loss_forward_with_gradients(*of_rows, x, w, targets, scale, saved);
  const OutputLossPart plain = output_loss_forward(x, w, targets, 0, nullptr);
  EXPECT_TRUE(at::equal(part.lse_M, plain.lse_M));
  EXPECT_TRUE(at::equal(part.target_M, plain.target_M));
  const std::int64_t element = dtype == at::kFloat ? 4 : 2;
  EXPECT_EQ(saved.bytes(), c.M * c.D * element + c.V * c.D * 4);
  OutputLossSaved of_input;
  output_loss_forward_with_gradients(*of_rows, x, w, targets, scale, of_input, LossGradients::input);
  EXPECT_TRUE(at::equal(of_input.dx_MD, saved.dx_MD));
  EXPECT_EQ(of_input.bytes(), c.M * c.D * element);
  Parity exact, stored(dtype, 1);  // the logits' gradient is rounded as it is written
  exact.compare("loss", read_loss(of_rows->sum(part, targets)).loss, want.loss.item<double>());
  stored.compare("dx", output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, scale, saved), want.x.grad());
  EXPECT_EQ(saved.bytes(), c.V * c.D * 4);
  stored.compare("dw", saved.dw_vD, want.w.grad());
}

TEST(OutputLossParity, KeptGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    expect_gradients_parity({1, 1, 1, 0}, dtype);
    expect_gradients_parity({33, 17, 101, 3}, dtype);
    expect_gradients_parity({48, 64, 259, 5, {}, 10.0}, dtype);
    expect_gradients_parity({300, 20, 61, 0}, dtype);  // chunks of 128, 128 and 44 rows
  }
}

TEST(OutputLossParity, RandomShapes) {
  base::Draw draw("output loss");
  for (int i = 0; i < 12; ++i) {
    const std::int64_t M = random_size(draw, 150), D = random_size(draw, 150), V = random_size(draw, 300);
    const std::int64_t silent = M > 1 ? draw.any<int>({0, 2, 3}) : 0;
    expect_gradients_parity({M, D, V, silent}, at::kFloat);
    expect_output_loss_parity({M, D, V, silent}, at::kFloat);
    if (V > 1) expect_output_loss_parity({M, D, V, silent, {V / 2, V - V / 2}}, at::kFloat);
  }
}

TEST(OutputLossParity, BitsDoNotDependOnTheNumberOfThreads) {
  const at::Tensor x = random_normal("x", {600, 48}), w = random_normal("w", {1500, 48});
  const at::Tensor targets = random_ids("t", 600, 1500);
  std::vector<std::vector<at::Tensor>> results;
  for (const int threads : {1, 2, 3, 5}) {
    tensor::set_threads(threads);
    OutputLossSaved logits, gradients;
    const OutputLossPart part = output_loss_forward(x, w, targets, 0, &logits);
    output_loss_forward_with_gradients(*of_rows, x, w, targets, 0.5, gradients);
    const at::Tensor dx = output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, 0.5, logits), dw = at::empty_like(w);
    output_loss_backward_weight(x, logits, 7, pieces_of(dw));
    results.push_back({part.lse_M, part.target_M, dx, dw, gradients.dx_MD, gradients.dw_vD});
    for (std::size_t i = 0; i < results[0].size(); ++i) EXPECT_TRUE(at::equal(results[0][i], results.back()[i]));
  }
  tensor::set_threads(1);
}

TEST(OutputLossParity, JoinedPartsHaveTheSameBitsForEveryNumberOfThreads) {
  std::vector<OutputLossPart> parts;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"})
    parts.push_back({random_normal(name, {9973}), random_normal(name, {9973})});
  std::vector<at::Tensor> lses;
  for (const int threads : {1, 2, 3, 5, 7}) {
    tensor::set_threads(threads);
    lses.push_back(output_loss_join(parts).lse_M);
    EXPECT_TRUE(at::equal(lses.back(), lses[0])) << threads;
  }
  tensor::set_threads(1);
}

TEST(OutputLossParity, ANanOrAnInfinityOfEitherPartIsNotHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const at::Tensor some = at::tensor({1.0f, -3.0f, 0.0f, nan, inf, -inf}), zeros = at::zeros({36});
  const at::Tensor a = some.repeat({6}), b = some.repeat_interleave(6);
  const at::Tensor got = output_loss_join({{a, zeros}, {b, zeros}}).lse_M, want = at::logaddexp(a, b);
  const at::Tensor both_infinite = (a == inf).logical_and(b == inf);  // exp(inf - inf): not-a-number, as it always was
  EXPECT_TRUE(at::equal(got.isnan(), want.isnan().logical_or(both_infinite)));
  EXPECT_TRUE(at::allclose(got.masked_select(~got.isnan()), want.masked_select(~got.isnan()), 1e-6, 0));
}

TEST(OutputLossParity, ATargetOfAnotherPartGivesNoTargetLogit) {
  const at::Tensor x = random_normal("x", {4, 8}), w = random_normal("w", {5, 8}), logits = at::mm(x, w.t());
  const at::Tensor targets = at::tensor({9, 10, 14, 15}, at::kLong);  // this part holds 10 to 14
  const at::Tensor got = output_loss_forward(x, w, targets, 10, nullptr).target_M;
  EXPECT_EQ(got[0].item<float>(), 0);
  EXPECT_FLOAT_EQ(got[1].item<float>(), logits[1][0].item<float>());
  EXPECT_FLOAT_EQ(got[2].item<float>(), logits[2][4].item<float>());
  EXPECT_EQ(got[3].item<float>(), 0);
}

TEST(OutputLossParity, SilentRowsGetNoLossAndNoGradient) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {6, 8}).to(dtype), w = random_normal("w", {11, 8}).to(dtype);
    const at::Tensor targets = at::full({6}, -100, at::kLong);
    OutputLossSaved saved;
    const OutputLossPart part = output_loss_forward(x, w, targets, 0, &saved);
    const LossSum sum = read_loss(of_rows->sum(part, targets));
    EXPECT_EQ(sum.loss, 0);
    EXPECT_EQ(sum.tokens, 0);
    const at::Tensor dx = output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, 1.0, saved);
    EXPECT_TRUE(at::equal(dx, at::zeros({6, 8}, dtype)));
    const at::Tensor dw = at::full({11, 8}, 42.0f);
    output_loss_backward_weight(x, saved, 7, pieces_of(dw));
    EXPECT_TRUE(at::equal(dw, at::zeros({11, 8})));
  }
}

TEST(OutputLossParity, AUniformHeadCostsTheLogarithmOfTheVocabulary) {
  const at::Tensor targets = random_ids("t", 10, 259);
  const OutputLossPart part =
      output_loss_forward(random_normal("x", {10, 4}), at::zeros({259, 4}), targets, 0, nullptr);
  EXPECT_NEAR(read_loss(of_rows->sum(part, targets)).loss / 10, std::log(259.0), 1e-6);
}

TEST(OutputLossParity, LogitsInTheThousandsStayFinite) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = at::full({2, 1}, 1000.0f, dtype), w = at::tensor({5.f, -5.f, 4.f}).view({3, 1}).to(dtype);
    const at::Tensor targets = at::tensor({0, 1}, at::kLong);
    OutputLossSaved saved;
    const OutputLossPart part = output_loss_forward(x, w, targets, 0, &saved);
    EXPECT_DOUBLE_EQ(read_loss(of_rows->sum(part, targets)).loss, 10000.0);
    const at::Tensor dx = output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, 1.0, saved);
    EXPECT_FLOAT_EQ(dx[0][0].item<float>(), 0.0f);
    EXPECT_FLOAT_EQ(dx[1][0].item<float>(), 10.0f);
  }
}

// Logits near 60, where neighbouring bf16 numbers are 0.25 apart: kept as such, the gradient would be off by an eighth.
TEST(OutputLossParity, HalvesKeepTheSmallGradientOfAConfidentToken) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor x = at::full({1, 1}, 20.0f, dtype), w = at::tensor({3.f, 2.796875f}).view({2, 1}).to(dtype);
    const at::Tensor targets = at::tensor({0}, at::kLong);
    OutputLossSaved saved;
    const OutputLossPart part = output_loss_forward(x, w, targets, 0, &saved);
    output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, 1.0, saved);
    const double unlikely = 1 / (1 + std::exp(20.0 * (3.0 - w[1][0].item<double>())));
    EXPECT_NEAR(tensor::theirs(saved.logits_Mv[0][1]).item<double>() / unlikely, 1, 0.03);
    EXPECT_NEAR(tensor::theirs(saved.logits_Mv[0][0]).item<double>() / -unlikely, 1, 0.03);
  }
}

TEST(OutputLossParity, ALossScaleLiftsTheGradientsOfFp16AboveTheSmallestNumbers) {
  const at::Tensor x = random_normal("x", {64, 4}).to(at::kHalf), w = random_normal("w", {500, 4}).to(at::kHalf);
  const at::Tensor targets = random_ids("t", 64, 500);
  const double scale = 65536.0 / 64;
  const OutputLossReference want = reference(x, w, targets, scale);
  OutputLossSaved saved;
  const OutputLossPart part = output_loss_forward(x, w, targets, 0, &saved);
  const at::Tensor dx = output_loss_backward_input(*of_rows, w, targets, 0, part.lse_M, scale, saved);
  EXPECT_TRUE(at::isfinite(dx).all().item<bool>());
  // Even the unlikely tokens: off by their logarithm's rounding.
  EXPECT_TRUE(at::allclose(tensor::theirs(saved.logits_Mv).to(at::kDouble), want.logits.grad(), 0.02, 1e-7));
  Parity(at::kHalf, output_loss_gradient_units).compare("dx", dx, want.x.grad());
}

TEST(OutputLossParity, GivesTheSameLossWithAndWithoutSaving) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {33, 16}).to(dtype), w = random_normal("w", {101, 16}).to(dtype);
    const at::Tensor t = random_ids("t", 33, 101);
    OutputLossSaved saved;
    const OutputLossPart with = output_loss_forward(x, w, t, 0, &saved);
    const OutputLossPart without = output_loss_forward(x, w, t, 0, nullptr);
    EXPECT_TRUE(at::equal(with.lse_M, without.lse_M));
    EXPECT_TRUE(at::equal(with.target_M, without.target_M));
  }
}

}  // namespace
}  // namespace troika::kernels
