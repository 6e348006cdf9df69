#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/gelu.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

at::Tensor gelu_reference(const at::Tensor& x) {
  return 0.5 * x * (1.0 + at::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}

void expect_parity(at::IntArrayRef sizes, double scale, at::ScalarType dtype) {
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
      for (const double scale : {0.01, 1.0, 5.0}) expect_parity(sizes, scale, dtype);
    }
  }
}

TEST(GeluParity, RandomShapes) {
  base::Draw draw("gelu");
  for (int i = 0; i < 40; ++i) expect_parity({random_size(draw, 300), random_size(draw, 400)}, 1.0, at::kFloat);
}

TEST(GeluParity, ValuesFarFromZeroStayFinite) {
  const at::Tensor x = at::tensor({1e4f, -1e4f, 100.0f, -100.0f, 12.0f, -12.0f}).view({2, 3});
  EXPECT_TRUE(at::equal(gelu_forward(x), x.clamp_min(0.0)));
  EXPECT_TRUE(at::equal(kernels::gelu_backward(at::ones({2, 3}), x), (x > 0).to(at::kFloat)));
}

TEST(GeluParity, ANanIsNotHidden) {
  const at::Tensor x = at::full({1, 3}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(gelu_forward(x).isnan().all().item<bool>());
  EXPECT_TRUE(kernels::gelu_backward(at::ones({1, 3}), x).isnan().all().item<bool>());
}

}  // namespace
}  // namespace troika::kernels
