// M rows, I inputs, O outputs.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/linear.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

const std::vector<std::vector<std::int64_t>> shapes{{1, 1, 1},    {1, 257, 31},   {257, 1, 3},   {3, 5, 7},
                                                    {33, 17, 65}, {64, 96, 48},   {130, 127, 1}, {48, 64, 259},
                                                    {17, 512, 9}, {200, 129, 131}};

TEST(LinearParity, ForwardAndBothGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    Parity stored(dtype), exact;
    for (const auto& s : shapes) {
      const std::int64_t M = s[0], I = s[1], O = s[2];
      const at::Tensor x = random_normal("x", {M, I}).to(dtype), w = random_normal("w", {O, I}).to(dtype);
      const at::Tensor dy = random_normal("dy", {M, O}).to(dtype), x_ref = leaf(x), w_ref = leaf(w);
      const at::Tensor y_ref = (x_ref.unsqueeze(1) * w_ref.unsqueeze(0)).sum(2);
      differentiate(y_ref, dy);

      const at::Tensor y = linear_forward(x, w), dx = linear_backward_input(dy, w);
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_EQ(dx.scalar_type(), dtype);
      stored.compare("y", y, y_ref);
      exact.compare("y in fp32", linear_forward_float(x, w), y_ref);
      stored.compare("dx", dx, x_ref.grad());
      const at::Tensor dw = at::full({O, I}, 42.0f);
      linear_backward_weight(dy, x, dw);
      exact.compare("dw", dw, w_ref.grad());
    }
  }
}

TEST(LinearParity, InFp32GivesTheBitsOfThePlainProduct) {
  for (const auto& s : shapes) {
    const at::Tensor x = random_normal("x", {s[0], s[1]}), w = random_normal("w", {s[2], s[1]});
    const at::Tensor dy = random_normal("dy", {s[0], s[2]}), dw = at::empty({s[2], s[1]});
    EXPECT_TRUE(at::equal(linear_forward(x, w), at::mm(x, w.t())));
    EXPECT_TRUE(at::equal(linear_forward_float(x, w), at::mm(x, w.t())));
    EXPECT_TRUE(at::equal(linear_backward_input(dy, w), at::mm(dy, w)));
    linear_backward_weight(dy, x, dw);
    EXPECT_TRUE(at::equal(dw, at::mm(dy.t(), x)));
  }
}

TEST(LinearParity, WritesTheWeightGradientIntoItsPlaceInAFlatBuffer) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = random_normal("x", {9, 5}).to(dtype), dy = random_normal("dy", {9, 7}).to(dtype);
    const at::Tensor flat = at::full({100}, 42.0f), expected = at::empty({7, 5});
    linear_backward_weight(dy, x, flat.narrow(0, 11, 35).view({7, 5}));
    linear_backward_weight(dy, x, expected);
    EXPECT_TRUE(at::equal(flat.narrow(0, 11, 35), expected.flatten()));
    EXPECT_TRUE(at::equal(flat.narrow(0, 0, 11), at::full({11}, 42.0f)));
    EXPECT_TRUE(at::equal(flat.narrow(0, 46, 54), at::full({54}, 42.0f)));
  }
}

TEST(LinearParity, NoRowsGiveNoOutputAndAZeroGradient) {
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor x = at::empty({0, 5}, dtype), w = random_normal("w", {7, 5}).to(dtype);
    const at::Tensor dw = at::full({7, 5}, 42.0f);
    EXPECT_EQ(linear_forward(x, w).sizes(), (at::IntArrayRef{0, 7}));
    linear_backward_weight(at::empty({0, 7}, dtype), x, dw);
    EXPECT_TRUE(at::equal(dw, at::zeros({7, 5})));
  }
}

}  // namespace
}  // namespace troika::kernels
