// RMSNorm, and queries' and keys' norm with rotary positions. M rows, D width; B sequences, T positions, n heads,
// H head width.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/rows.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "kernels/rope.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

at::Tensor norm_reference(const at::Tensor& x, const at::Tensor& w, double eps) {
  return x / at::sqrt(at::mean(x * x, {-1}, true) + eps) * w;
}

void expect_norm_parity(at::ScalarType dtype, std::int64_t M, std::int64_t D, double scale) {
  Parity stored(dtype), exact;
  const at::Tensor x = random_normal("x", {M, D}).mul_(scale).to(dtype), w = random_normal("w", {D}).to(dtype);
  const at::Tensor dy = random_normal("dy", {M, D}).to(dtype);
  const at::Tensor x_ref = leaf(x), w_ref = leaf(w), y_ref = norm_reference(x_ref, w_ref, 1e-6);
  differentiate(y_ref, dy);

  RmsNormSaved saved;
  const at::Tensor y = rms_norm_forward(x, w, 1e-6, &saved);
  EXPECT_EQ(y.scalar_type(), dtype);
  stored.compare("y", y, y_ref);
  EXPECT_EQ(saved.bytes(), M * 4);
  const at::Tensor dw = at::full({D}, 42.0f), dx = rms_norm_backward(dy, x, w, saved, dw);
  EXPECT_EQ(dx.scalar_type(), dtype);
  // With one element per row the gradient is the tiny rest of a cancellation; autograd in double is its measure.
  if (D > 1) stored.compare("dx", dx, x_ref.grad());
  exact.compare("dw", dw, w_ref.grad());
}

TEST(RmsNormParity, AForwardWithPlusIsTheSumInPlaceAndItsNorm) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {33, 257}).to(dtype), plus = random_normal("plus", {33, 257}).to(dtype);
    const at::Tensor w = random_normal("w", {257}).to(dtype), sum = x + plus, became = x.clone();
    RmsNormSaved of_sum, found;
    const at::Tensor y = rms_norm_forward(sum, w, 1e-5, &of_sum);
    EXPECT_TRUE(at::equal(rms_norm_forward(became, w, 1e-5, &found, plus), y));
    EXPECT_TRUE(at::equal(became, sum));
    EXPECT_TRUE(at::equal(found.rstd_M, of_sum.rstd_M));
  }
}

TEST(RmsNormParity, ForwardAndGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    for (const auto& [M, D] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                                                 {1, 64},
                                                                                 {5, 3},
                                                                                 {48, 64},
                                                                                 {33, 257},
                                                                                 {300, 17},
                                                                                 {2, 1024},
                                                                                 {1, 15},
                                                                                 {700, 31},
                                                                                 {1030, 16},
                                                                                 {3, 33}}) {
      for (const double scale : {1.0, 1e-3, 100.0}) expect_norm_parity(dtype, M, D, scale);
    }
  }
}

TEST(RmsNormParity, RandomShapes) {
  base::Draw draw("rms norm");
  for (int i = 0; i < 40; ++i) expect_norm_parity(at::kFloat, random_size(draw, 300), random_size(draw, 500), 1.0);
}

TEST(RmsNormParity, WhatGoesRoundTheNormIsAddedToTheGradient) {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 16, 45, 256}) {
      const at::Tensor x = random_normal("x", {9, D}).to(dtype), w = random_normal("w", {D}).to(dtype);
      const at::Tensor dy = random_normal("dy", {9, D}).to(dtype), plus = random_normal("plus", {9, D}).to(dtype);
      const at::Tensor x_ref = leaf(x);
      differentiate(norm_reference(x_ref, leaf(w), 1e-6), dy);
      RmsNormSaved saved;
      rms_norm_forward(x, w, 1e-6, &saved);
      const at::Tensor dw = at::empty({D}), dw_alone = at::empty({D});
      const at::Tensor dx = rms_norm_backward(dy, x, w, saved, dw, plus);
      EXPECT_EQ(dx.scalar_type(), dtype);
      Parity(dtype).compare("dx", dx, x_ref.grad() + plus);
      rms_norm_backward(dy, x, w, saved, dw_alone);
      EXPECT_TRUE(at::equal(dw, dw_alone));
    }
  }
}

TEST(RmsNormParity, TheWeightGradientOf65536RowsStaysAccurate) {
  for (const double mean : {0.0, 1.0}) {
    const at::Tensor x = random_normal("x", {65536, 3}), w = random_normal("w", {3}), dy = x * 0.5 + mean;
    const at::Tensor w_ref = leaf(w);
    differentiate(norm_reference(leaf(x), w_ref, 1e-6), dy);
    RmsNormSaved saved;
    rms_norm_forward(x, w, 1e-6, &saved);
    const at::Tensor dw = at::empty({3});
    rms_norm_backward(dy, x, w, saved, dw);
    Parity().compare("dw", dw, w_ref.grad());
  }
}

TEST(RmsNormParity, TheReferenceGivesTheBitsOfThePlainFormula) {
  const at::Tensor x = random_normal("x", {33, 257}), w = random_normal("w", {257}),
                   dy = random_normal("dy", {33, 257});
  const at::Tensor rstd = at::rsqrt(x.square().mean(-1, true) + 1e-6), xhat = x * rstd, dxhat = dy * w;
  RmsNormSaved saved;
  EXPECT_TRUE(at::equal(reference::rms_norm_forward(x, w, 1e-6, &saved, {}), xhat * w));
  const at::Tensor dw = at::empty({257}), dx = reference::rms_norm_backward(dy, x, w, saved, dw, {});
  EXPECT_TRUE(at::equal(dx, (dxhat - xhat * (dxhat * xhat).mean(-1, true)) * rstd));
  EXPECT_TRUE(at::equal(dw, (dy * xhat).sum(0)));
}

TEST(RmsNormParity, AZeroRowStaysZeroWithAFiniteGradient) {
  const at::Tensor x = at::zeros({1, 8}), w = random_normal("w", {8}), dy = random_normal("dy", {1, 8});
  RmsNormSaved saved;
  EXPECT_TRUE(at::equal(rms_norm_forward(x, w, 1e-6, &saved), at::zeros({1, 8})));
  Parity parity;
  parity.compare("dx", rms_norm_backward(dy, x, w, saved, at::empty({8})), dy * w * 1e3);
}

TEST(RmsNormParity, GivesTheSameBitsWithAndWithoutSaving) {
  const at::Tensor x = random_normal("x", {7, 33}), w = random_normal("w", {33});
  RmsNormSaved saved;
  EXPECT_TRUE(at::equal(rms_norm_forward(x, w, 1e-6, &saved), rms_norm_forward(x, w, 1e-6, nullptr)));
}

// The published form: x cos + rotate_half(x) sin, cosines and sines repeated over both halves, all in double.
at::Tensor rope_reference(const at::Tensor& x_BTnH, double theta, const std::vector<std::int64_t>& positions) {
  const std::int64_t T = x_BTnH.size(1), H = x_BTnH.size(3);
  at::Tensor angles_TH = at::empty({T, H}, at::kDouble);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t h = 0; h < H; ++h) {
      const double frequency = 1.0 / std::pow(theta, 2.0 * static_cast<double>(h % (H / 2)) / static_cast<double>(H));
      angles_TH[t][h] = static_cast<double>(positions[static_cast<std::size_t>(t)]) * frequency;
    }
  }
  const at::Tensor rotated = at::cat({-x_BTnH.narrow(3, H / 2, H / 2), x_BTnH.narrow(3, 0, H / 2)}, 3);
  return x_BTnH * angles_TH.cos().unsqueeze(1) + rotated * angles_TH.sin().unsqueeze(1);
}

struct RopeCase {
  std::int64_t B, T, n, H;
  double theta;
  std::vector<std::int64_t> positions;  // may be more than T
};

void expect_rope_parity(at::ScalarType dtype, const RopeCase& c) {
  Parity stored(dtype), exact;
  const RopeTable rope = make_rope_table(c.positions, {c.H, c.theta}, tensor::Device());
  // The heads of interest are a strided view inside wider rows, as in a joint q, k, v projection.
  const at::Tensor x = random_normal("x", {c.B, c.T, c.n + 3, c.H}).to(dtype).narrow(2, 1, c.n);
  const at::Tensor w = random_normal("w", {c.H}).to(dtype), dy = random_normal("dy", {c.B, c.T, c.n, c.H}).to(dtype);
  const at::Tensor x_ref = leaf(x), w_ref = leaf(w);
  const at::Tensor y_ref = rope_reference(norm_reference(x_ref, w_ref, 1e-6), c.theta, c.positions);
  differentiate(y_ref, dy);

  QkNormRopeSaved saved;
  const at::Tensor y = qk_norm_rope_forward(x, w, 1e-6, rope, &saved);
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_EQ(y.scalar_type(), dtype);
  EXPECT_EQ(saved.bytes(), c.B * c.T * c.n * 4);
  stored.compare("y", y, y_ref);
  const at::Tensor dw = at::full({c.H}, 42.0f), dx = at::full_like(x, 42.0f);
  qk_norm_rope_backward(dy, x, w, rope, saved, dx, dw);
  EXPECT_EQ(dx.scalar_type(), dtype);
  stored.compare("dx", dx, x_ref.grad());
  exact.compare("dw", dw, w_ref.grad());
}

TEST(QkNormRopeParity, ForwardAndGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    expect_rope_parity(dtype, {1, 1, 1, 2, 1e4, {0}});
    expect_rope_parity(dtype, {2, 24, 4, 16, 1e6, positions_from(0, 24)});
    expect_rope_parity(dtype, {3, 7, 5, 6, 1e6, positions_from(11, 7)});
    expect_rope_parity(dtype, {1, 33, 3, 10, 1e4, positions_from(1000, 40)});  // more positions than x has
    expect_rope_parity(dtype, {2, 1, 2, 128, 1e6, {4095}});
    expect_rope_parity(dtype, {2, 9, 3, 80, 1e6, positions_from(0, 9)});
    expect_rope_parity(dtype, {1, 600, 7, 32, 1e6, positions_from(0, 600)});
    expect_rope_parity(dtype, {1, 5, 1, 64, 1e6, positions_from(40000, 5)});
    expect_rope_parity(dtype, {2, 6, 2, 8, 1e4, {0, 1, 2, 21, 22, 23}});  // two pieces of a split context
  }
}

TEST(QkNormRopeParity, RandomShapes) {
  base::Draw draw("qk norm rope");
  for (int i = 0; i < 20; ++i) {
    const std::int64_t T = random_size(draw, 100), H = 2 * random_size(draw, 70);
    expect_rope_parity(at::kFloat,
                       {draw.from(1, 3), T, draw.from(1, 5), H, 1e6, positions_from(draw.from(0, 5000), T)});
  }
}

TEST(QkNormRopeParity, TheReferenceGivesTheBitsOfThePlainFormula) {
  const RopeTable rope = make_rope_table(positions_from(3, 9), {8, 1e4}, tensor::Device());
  const at::Tensor x = random_normal("x", {2, 9, 3, 8}), w = random_normal("w", {8});
  const at::Tensor n = x * at::rsqrt(x.square().mean(-1, true) + 1e-6) * w;
  const at::Tensor cos = rope.cos_TI.unsqueeze(1), sin = rope.sin_TI.unsqueeze(1);
  const at::Tensor first = n.narrow(3, 0, 4), second = n.narrow(3, 4, 4);
  EXPECT_TRUE(at::equal(reference::qk_norm_rope_forward(x, w, 1e-6, rope, nullptr),
                        at::cat({first * cos - second * sin, second * cos + first * sin}, 3)));
}

TEST(QkNormRopeParity, WritesOnlyItsOwnHeadsOfAWiderGradient) {
  const RopeTable rope = make_rope_table(positions_from(0, 5), {20, 1e4}, tensor::Device());
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {2, 5, 3, 20}).to(dtype), w = random_normal("w", {20}).to(dtype);
    const at::Tensor dy = random_normal("dy", {2, 5, 3, 20}).to(dtype), dw = at::empty({20});
    const at::Tensor wide = at::full({2, 5, 7, 20}, 42.0f, dtype), alone = at::empty_like(x);
    QkNormRopeSaved saved;
    qk_norm_rope_forward(x, w, 1e-6, rope, &saved);
    qk_norm_rope_backward(dy, x, w, rope, saved, wide.narrow(2, 2, 3), dw);
    qk_norm_rope_backward(dy, x, w, rope, saved, alone, dw);
    EXPECT_TRUE(at::equal(wide.narrow(2, 2, 3), alone));
    EXPECT_TRUE(at::equal(wide.narrow(2, 0, 2), at::full({2, 5, 2, 20}, 42.0f, dtype)));
    EXPECT_TRUE(at::equal(wide.narrow(2, 5, 2), at::full({2, 5, 2, 20}, 42.0f, dtype)));
  }
}

TEST(QkNormRopeParity, AcceptsAStridedGradient) {
  const RopeTable rope = make_rope_table(positions_from(0, 5), {8, 1e4}, tensor::Device());
  const at::Tensor x = random_normal("x", {2, 5, 3, 8}), w = random_normal("w", {8});
  const at::Tensor dy = random_normal("dy", {2, 5, 7, 8}).narrow(2, 2, 3);
  QkNormRopeSaved saved;
  qk_norm_rope_forward(x, w, 1e-6, rope, &saved);
  const at::Tensor dw = at::empty({8}), dw_of_copy = at::empty({8});
  const at::Tensor dx = at::empty_like(x), dx_of_copy = at::empty_like(x);
  qk_norm_rope_backward(dy, x, w, rope, saved, dx, dw);
  qk_norm_rope_backward(dy.contiguous(), x, w, rope, saved, dx_of_copy, dw_of_copy);
  EXPECT_TRUE(at::equal(dx, dx_of_copy));
  EXPECT_TRUE(at::equal(dw, dw_of_copy));
}

}  // namespace
}  // namespace troika::kernels
