#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/rows.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

void expect_activation_parity(std::int64_t M, std::int64_t F, double scale, at::ScalarType dtype) {
  Parity stored(dtype);
  const at::Tensor gate_up = random_normal("gate_up", {M, 2 * F}).mul_(scale).to(dtype);
  const at::Tensor dh = random_normal("dh", {M, F}).to(dtype), both = leaf(gate_up);
  const at::Tensor gate = both.narrow(1, 0, F), up = both.narrow(1, F, F);
  const at::Tensor h_ref = gate / (1.0 + at::exp(-gate)) * up;
  differentiate(h_ref, dh);
  const at::Tensor h = swiglu_forward(gate_up), gradient = swiglu_backward(dh, gate_up);
  EXPECT_EQ(h.scalar_type(), dtype);
  EXPECT_EQ(gradient.scalar_type(), dtype);
  stored.compare("h", h, h_ref);
  stored.compare("d(gate_up)", gradient, both.grad());
}

TEST(SwigluParity, ForwardAndGradientAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    for (const auto& [M, F] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {3, 5}, {48, 192}, {33, 77}, {1, 15}, {2, 17}, {300, 64}}) {
      for (const double scale : {1.0, 20.0}) expect_activation_parity(M, F, scale, dtype);
    }
  }
}

TEST(SwigluParity, RandomShapes) {
  base::Draw draw("swiglu");
  for (int i = 0; i < 40; ++i)
    expect_activation_parity(random_size(draw, 300), random_size(draw, 300), 1.0, at::kFloat);
}

TEST(SwigluParity, TheReferenceGivesTheBitsOfThePlainFormula) {
  const at::Tensor gate_up = random_normal("gate_up", {33, 154}), dh = random_normal("dh", {33, 77});
  const at::Tensor gate = gate_up.narrow(1, 0, 77), up = gate_up.narrow(1, 77, 77), s = gate.sigmoid(), silu = gate * s;
  EXPECT_TRUE(at::equal(reference::swiglu_forward(gate_up), at::silu(gate) * up));
  const at::Tensor dgate = ((1.0 - s) * silu + s) * up * dh;
  EXPECT_TRUE(at::equal(reference::swiglu_backward(dh, gate_up), at::cat({dgate, dh * silu}, 1)));
}

TEST(SwigluParity, EveryGateBetweenMinus100And100IsAccurateByItself) {
  const at::Tensor gate = at::linspace(-100.0, 100.0, 4001), both = at::stack({gate, at::ones_like(gate)}, 1);
  const at::Tensor gate_ref = leaf(gate), h_ref = gate_ref * at::sigmoid(gate_ref);
  differentiate(h_ref, at::ones_like(gate));
  const at::Tensor h = tensor::theirs(swiglu_forward(both).select(1, 0)).to(at::kDouble);
  const at::Tensor dgate = tensor::theirs(swiglu_backward(at::ones({4001, 1}), both).select(1, 0)).to(at::kDouble);
  const at::Tensor error = (h - h_ref).abs(), normal = gate > -80.0;  // below, results are near the smallest floats
  EXPECT_LT((error / h_ref.abs().clamp_min(1e-40)).masked_select(normal).max().item<double>(), 5e-7);
  EXPECT_LT(error.masked_select(~normal).max().item<double>(), 1e-30);
  EXPECT_LT((dgate - gate_ref.grad()).abs().max().item<double>(), 5e-7);
}

TEST(SwigluParity, ANanInTheGateIsNotHidden) {
  const at::Tensor gate_up = at::full({1, 2}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(tensor::theirs(swiglu_forward(gate_up)).isnan().all().item<bool>());
  EXPECT_TRUE(tensor::theirs(swiglu_backward(at::ones({1, 1}), gate_up)).isnan().all().item<bool>());
}

TEST(SwigluParity, GatesFarFromZeroStayFinite) {
  at::Tensor gate_up = at::ones({2, 2});
  gate_up[0][0] = 200.0f;
  gate_up[1][0] = -200.0f;
  const at::Tensor h = swiglu_forward(gate_up), d = swiglu_backward(at::ones({2, 1}), gate_up);
  EXPECT_FLOAT_EQ(h[0][0].item<float>(), 200.0f);
  EXPECT_FLOAT_EQ(h[1][0].item<float>(), 0.0f);
  EXPECT_FLOAT_EQ(d[0][0].item<float>(), 1.0f);
  EXPECT_FLOAT_EQ(d[1][0].item<float>(), 0.0f);
}

at::Tensor gelu_reference(const at::Tensor& x) {
  return 0.5 * x * (1.0 + at::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

void expect_activation_parity(at::IntArrayRef sizes, double scale, at::ScalarType dtype) {
  Parity stored(dtype);
  const at::Tensor x = random_normal("x", sizes).mul_(scale).to(dtype), dy = random_normal("dy", sizes).to(dtype);
  const at::Tensor x_ref = leaf(x), y_ref = gelu_reference(x_ref);
  differentiate(y_ref, dy);
  const at::Tensor y = gelu_forward(x), dx = kernels::gelu_backward(dy, x);
  EXPECT_EQ(y.scalar_type(), dtype);
  EXPECT_EQ(dx.scalar_type(), dtype);
  stored.compare("y", y, y_ref);
  stored.compare("dx", dx, x_ref.grad());
}

TEST(GeluParity, ForwardAndGradientAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
             {1, 1}, {1, 15}, {16, 1}, {3, 5}, {48, 192}, {9, 256}, {6, 77}, {1, 33000}, {0, 7}}) {
      for (const double scale : {0.01, 1.0, 5.0}) expect_activation_parity(sizes, scale, dtype);
    }
  }
}

TEST(GeluParity, RandomShapes) {
  base::Draw draw("gelu");
  for (int i = 0; i < 40; ++i)
    expect_activation_parity({random_size(draw, 300), random_size(draw, 400)}, 1.0, at::kFloat);
}

TEST(GeluParity, ValuesFarFromZeroStayFinite) {
  const at::Tensor x = at::tensor({1e4f, -1e4f, 100.0f, -100.0f, 12.0f, -12.0f}).view({2, 3});
  EXPECT_TRUE(at::equal(gelu_forward(x), x.clamp_min(0.0)));
  EXPECT_TRUE(at::equal(kernels::gelu_backward(at::ones({2, 3}), x), (x > 0).to(at::kFloat)));
}

TEST(GeluParity, ANanIsNotHidden) {
  const at::Tensor x = at::full({1, 3}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(tensor::theirs(gelu_forward(x)).isnan().all().item<bool>());
  EXPECT_TRUE(tensor::theirs(kernels::gelu_backward(at::ones({1, 3}), x)).isnan().all().item<bool>());
}

}  // namespace
}  // namespace troika::kernels
