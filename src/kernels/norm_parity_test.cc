// RMSNorm, and queries' and keys' norm with rotary positions. M rows, D width; B sequences, T positions, n heads,
// H head width.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/parity_test_support.h"
#include "kernels/qk_norm_rope.h"
#include "kernels/rms_norm.h"

namespace troika::kernels {
namespace {

at::Tensor norm_reference(const at::Tensor& x, const at::Tensor& w, double eps) {
  return x / at::sqrt(at::mean(x * x, {-1}, true) + eps) * w;
}

TEST(RmsNormParity, ForwardAndGradientsAgreeWithAutograd) {
  Parity parity;
  for (const auto& [M, D] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {1, 64}, {5, 3}, {48, 64}, {33, 257}, {300, 17}, {2, 1024}}) {
    for (const double scale : {1.0, 1e-3, 100.0}) {
      const at::Tensor x = random_normal("x", {M, D}).mul_(scale), w = random_normal("w", {D});
      const at::Tensor dy = random_normal("dy", {M, D});
      const at::Tensor x_ref = leaf(x), w_ref = leaf(w), y_ref = norm_reference(x_ref, w_ref, 1e-6);
      differentiate(y_ref, dy);

      RmsNormSaved saved;
      parity.compare("y", rms_norm_forward(x, w, 1e-6, &saved), y_ref);
      EXPECT_EQ(saved.bytes(), M * 4);
      const at::Tensor dw = at::full({D}, 42.0f);
      // With one element per row the gradient is the tiny rest of a cancellation; autograd in double is its measure.
      const at::Tensor dx = rms_norm_backward(dy, x, w, saved, dw);
      if (D > 1) parity.compare("dx", dx, x_ref.grad());
      parity.compare("dw", dw, w_ref.grad());
    }
  }
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
at::Tensor rope_reference(const at::Tensor& x_BTnH, double theta, std::int64_t offset) {
  const std::int64_t T = x_BTnH.size(1), H = x_BTnH.size(3);
  at::Tensor angles_TH = at::empty({T, H}, at::kDouble);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t h = 0; h < H; ++h) {
      const double frequency = 1.0 / std::pow(theta, 2.0 * static_cast<double>(h % (H / 2)) / static_cast<double>(H));
      angles_TH[t][h] = static_cast<double>(offset + t) * frequency;
    }
  }
  const at::Tensor rotated = at::cat({-x_BTnH.narrow(3, H / 2, H / 2), x_BTnH.narrow(3, 0, H / 2)}, 3);
  return x_BTnH * angles_TH.cos().unsqueeze(1) + rotated * angles_TH.sin().unsqueeze(1);
}

TEST(QkNormRopeParity, ForwardAndGradientsAgreeWithAutograd) {
  struct Case {
    std::int64_t B, T, n, H, offset;
    double theta;
  };
  Parity parity;
  for (const Case& c : {Case{1, 1, 1, 2, 0, 1e4}, Case{2, 24, 4, 16, 0, 1e6}, Case{3, 7, 5, 6, 11, 1e6},
                        Case{1, 33, 3, 10, 1000, 1e4}, Case{2, 1, 2, 128, 4095, 1e6}, Case{1, 5, 1, 64, 40000, 1e6}}) {
    const RopeTable rope = make_rope_table(c.offset + c.T, c.H, c.theta, at::kCPU);
    // The heads of interest are a strided view inside wider rows, as in a joint q, k, v projection.
    const at::Tensor rows = random_normal("x", {c.B, c.T, c.n + 3, c.H}), x = rows.narrow(2, 1, c.n);
    const at::Tensor w = random_normal("w", {c.H}), dy = random_normal("dy", {c.B, c.T, c.n, c.H});
    const at::Tensor x_ref = leaf(x), w_ref = leaf(w);
    const at::Tensor y_ref = rope_reference(norm_reference(x_ref, w_ref, 1e-6), c.theta, c.offset);
    differentiate(y_ref, dy);

    QkNormRopeSaved saved;
    const at::Tensor y = qk_norm_rope_forward(x, w, 1e-6, rope, c.offset, &saved);
    EXPECT_TRUE(y.is_contiguous());
    EXPECT_EQ(saved.bytes(), c.B * c.T * c.n * 4);
    parity.compare("y", y, y_ref);
    const at::Tensor dw = at::full({c.H}, 42.0f);
    parity.compare("dx", qk_norm_rope_backward(dy, x, w, rope, c.offset, saved, dw), x_ref.grad());
    parity.compare("dw", dw, w_ref.grad());
  }
}

TEST(QkNormRopeParity, AcceptsAStridedGradient) {
  const RopeTable rope = make_rope_table(5, 8, 1e4, at::kCPU);
  const at::Tensor x = random_normal("x", {2, 5, 3, 8}), w = random_normal("w", {8});
  const at::Tensor dy = random_normal("dy", {2, 5, 7, 8}).narrow(2, 2, 3);
  QkNormRopeSaved saved;
  qk_norm_rope_forward(x, w, 1e-6, rope, 0, &saved);
  const at::Tensor dw = at::empty({8}), dw_of_copy = at::empty({8});
  const at::Tensor dx = qk_norm_rope_backward(dy, x, w, rope, 0, saved, dw);
  EXPECT_TRUE(at::equal(dx, qk_norm_rope_backward(dy.contiguous(), x, w, rope, 0, saved, dw_of_copy)));
  EXPECT_TRUE(at::equal(dw, dw_of_copy));
}

}  // namespace
}  // namespace troika::kernels
