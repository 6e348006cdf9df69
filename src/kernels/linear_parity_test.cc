// M rows, I inputs, O outputs.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/linear.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

TEST(LinearParity, ForwardAndBothGradientsAgreeWithAutograd) {
  Parity parity;
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1, 1},    {1, 257, 31},   {257, 1, 3},   {3, 5, 7},
                                                      {33, 17, 65}, {64, 96, 48},   {130, 127, 1}, {48, 64, 259},
                                                      {17, 512, 9}, {200, 129, 131}};
  for (const auto& s : shapes) {
    const std::int64_t M = s[0], I = s[1], O = s[2];
    const at::Tensor x = random_normal("x", {M, I}), w = random_normal("w", {O, I}), dy = random_normal("dy", {M, O});
    const at::Tensor x_ref = leaf(x), w_ref = leaf(w);
    const at::Tensor y_ref = (x_ref.unsqueeze(1) * w_ref.unsqueeze(0)).sum(2);
    differentiate(y_ref, dy);

    parity.compare("y", linear_forward(x, w), y_ref);
    parity.compare("dx", linear_backward_input(dy, w), x_ref.grad());
    const at::Tensor dw = at::full({O, I}, 42.0f);
    linear_backward_weight(dy, x, dw);
    parity.compare("dw", dw, w_ref.grad());
  }
}

TEST(LinearParity, WritesTheWeightGradientIntoItsPlaceInAFlatBuffer) {
  const at::Tensor x = random_normal("x", {9, 5}), dy = random_normal("dy", {9, 7});
  const at::Tensor flat = at::full({100}, 42.0f), expected = at::empty({7, 5});
  linear_backward_weight(dy, x, flat.narrow(0, 11, 35).view({7, 5}));
  linear_backward_weight(dy, x, expected);
  EXPECT_TRUE(at::equal(flat.narrow(0, 11, 35), expected.flatten()));
  EXPECT_TRUE(at::equal(flat.narrow(0, 0, 11), at::full({11}, 42.0f)));
  EXPECT_TRUE(at::equal(flat.narrow(0, 46, 54), at::full({54}, 42.0f)));
}

TEST(LinearParity, NoRowsGiveNoOutputAndAZeroGradient) {
  const at::Tensor x = at::empty({0, 5}), w = random_normal("w", {7, 5}), dw = at::full({7, 5}, 42.0f);
  EXPECT_EQ(linear_forward(x, w).sizes(), (at::IntArrayRef{0, 7}));
  linear_backward_weight(at::empty({0, 7}), x, dw);
  EXPECT_TRUE(at::equal(dw, at::zeros({7, 5})));
}

}  // namespace
}  // namespace troika::kernels
