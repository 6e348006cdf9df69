// M rows, D width.
#include <gtest/gtest.h>

#include "kernels/rows.h"
#include "kernels/parity_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

at::Tensor norm_reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias, double eps) {
  const at::Tensor centred = x - x.mean(-1, true);
  return centred / at::sqrt(at::mean(centred * centred, {-1}, true) + eps) * w + bias;
}

struct LayerNormCase {
  std::int64_t M, D;
  double scale = 1, shift = 0;
};

void expect_layer_norm_parity(at::ScalarType dtype, const LayerNormCase& c) {
  Parity stored(dtype), exact;
  const at::Tensor x = random_normal("x", {c.M, c.D}).mul_(c.scale).add_(c.shift).to(dtype);
  const at::Tensor w = random_normal("w", {c.D}).to(dtype), bias = random_normal("bias", {c.D}).to(dtype);
  const at::Tensor dy = random_normal("dy", {c.M, c.D}).to(dtype), plus = random_normal("plus", {c.M, c.D}).to(dtype);
  const at::Tensor x_ref = leaf(x), w_ref = leaf(w), bias_ref = leaf(bias);
  const at::Tensor y_ref = norm_reference(x_ref, w_ref, bias_ref, 1e-5);
  differentiate(y_ref, dy);

  LayerNormSaved saved;
  const at::Tensor y = layer_norm_forward(x, w, bias, 1e-5, &saved);
  EXPECT_EQ(y.scalar_type(), dtype);
  EXPECT_EQ(saved.bytes(), c.M * 8);
  stored.compare("y", y, y_ref);
  EXPECT_TRUE(at::equal(y, layer_norm_forward(x, w, bias, 1e-5, nullptr)));
  const at::Tensor dw = at::full({c.D}, 42.0f), dbias = at::full({c.D}, 42.0f);
  const at::Tensor dx = layer_norm_backward(dy, x, w, saved, dw, dbias);
  EXPECT_EQ(dx.scalar_type(), dtype);
  stored.compare("dx", dx, x_ref.grad());
  stored.compare("dx with plus", layer_norm_backward(dy, x, w, saved, dw, dbias, plus), x_ref.grad() + plus);
  exact.compare("dw", dw, w_ref.grad());
  exact.compare("dbias", dbias, bias_ref.grad());
}

TEST(LayerNormParity, AForwardWithPlusIsTheSumInPlaceAndItsNorm) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {33, 257}).to(dtype), plus = random_normal("plus", {33, 257}).to(dtype);
    const at::Tensor w = random_normal("w", {257}).to(dtype), bias = random_normal("bias", {257}).to(dtype);
    const at::Tensor sum = x + plus, became = x.clone();
    LayerNormSaved of_sum, found;
    const at::Tensor y = layer_norm_forward(sum, w, bias, 1e-5, &of_sum);
    EXPECT_TRUE(at::equal(layer_norm_forward(became, w, bias, 1e-5, &found, plus), y));
    EXPECT_TRUE(at::equal(became, sum));
    EXPECT_TRUE(at::equal(found.mean_M, of_sum.mean_M) && at::equal(found.rstd_M, of_sum.rstd_M));
  }
}

TEST(LayerNormParity, ForwardAndGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    for (const LayerNormCase& c : std::vector<LayerNormCase>{{1, 1},
                                                             {1, 64},
                                                             {5, 3},
                                                             {48, 64},
                                                             {33, 257},
                                                             {300, 17},
                                                             {2, 1024},
                                                             {1, 15},
                                                             {700, 31},
                                                             {1030, 16},
                                                             {7, 33, 0.1},
                                                             {7, 33, 100.0},
                                                             {9, 45, 1, 3.0}}) {
      expect_layer_norm_parity(dtype, c);
    }
  }
}

TEST(LayerNormParity, RandomShapes) {
  base::Draw draw("layer norm");
  for (int i = 0; i < 40; ++i) expect_layer_norm_parity(at::kFloat, {random_size(draw, 300), random_size(draw, 500)});
}

TEST(LayerNormParity, ARowOfEqualValuesGivesTheBiasAndAFiniteGradient) {
  const at::Tensor x = at::full({2, 21}, 3.0f), w = random_normal("w", {21}), bias = random_normal("bias", {21});
  LayerNormSaved saved;
  EXPECT_TRUE(at::equal(layer_norm_forward(x, w, bias, 1e-5, &saved), bias.expand({2, 21})));
  const at::Tensor dw = at::empty({21}), dbias = at::empty({21});
  EXPECT_TRUE(tensor::theirs(layer_norm_backward(x, x, w, saved, dw, dbias)).isfinite().all().item<bool>());
  EXPECT_TRUE(at::equal(dw, at::zeros({21})));
}

TEST(LayerNormParity, TheGradientsOf65536RowsStayAccurate) {
  const at::Tensor x = random_normal("x", {65536, 5}), w = random_normal("w", {5}), bias = random_normal("bias", {5});
  const at::Tensor dy = random_normal("dy", {65536, 5}).add_(1.0), w_ref = leaf(w), bias_ref = leaf(bias);
  differentiate(norm_reference(leaf(x), w_ref, bias_ref, 1e-5), dy);
  LayerNormSaved saved;
  layer_norm_forward(x, w, bias, 1e-5, &saved);
  const at::Tensor dw = at::empty({5}), dbias = at::empty({5});
  layer_norm_backward(dy, x, w, saved, dw, dbias);
  Parity parity;
  parity.compare("dw", dw, w_ref.grad());
  parity.compare("dbias", dbias, bias_ref.grad());
}

}  // namespace
}  // namespace troika::kernels
