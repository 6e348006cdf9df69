// M rows, I inputs, O outputs.
#include <gtest/gtest.h>

#include "kernels/linear.h"
#include "kernels/parity_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

const std::vector<std::vector<std::int64_t>> linear_shapes{{1, 1, 1},    {1, 257, 31},   {257, 1, 3},   {3, 5, 7},
                                                           {33, 17, 65}, {64, 96, 48},   {130, 127, 1}, {48, 64, 259},
                                                           {17, 512, 9}, {200, 129, 131}};

TEST(LinearParity, ForwardAndBothGradientsAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    Parity stored(dtype), exact;
    for (const auto& s : linear_shapes) {
      const std::int64_t M = s[0], I = s[1], O = s[2];
      const at::Tensor x = random_normal("x", {M, I}).to(dtype), w = random_normal("w", {O, I}).to(dtype);
      const at::Tensor dy = random_normal("dy", {M, O}).to(dtype), x_ref = leaf(x), w_ref = leaf(w);
      const at::Tensor y_ref = (x_ref.unsqueeze(1) * w_ref.unsqueeze(0)).sum(2);
      differentiate(y_ref, dy);

      const at::Tensor y = linear_forward(x, w), dx = linear_backward_input(dy, w);
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_EQ(dx.scalar_type(), dtype);
      stored.compare("y", y, y_ref);
      const at::Tensor y_float = at::full({M, O + 3}, 42.0f).narrow(1, 2, O);
      linear_forward_float(x, w, y_float);
      exact.compare("y in fp32", y_float, y_ref);
      stored.compare("dx", dx, x_ref.grad());
      const at::Tensor dw = at::full({O, I}, 42.0f);
      linear_backward_weight(dy, x, dw);
      exact.compare("dw", dw, w_ref.grad());
      linear_backward_weight(dy, x, dw, tensor::Sum::added);
      exact.compare("dw twice", dw, w_ref.grad() * 2);
    }
  }
}

TEST(LinearParity, BitsDoNotDependOnWhereTheRowsOfTheResultStand) {
  for (const auto& s : std::vector<std::vector<std::int64_t>>{
           {1, 48, 40}, {10, 64, 259}, {16, 700, 64}, {40, 64, 259}, {700, 130, 512}, {300, 2050, 33}}) {
    const at::Tensor x = random_normal("x", {s[0], s[1]}), w = random_normal("w", {s[2], s[1]});
    const at::Tensor dense = at::empty({s[0], s[2]});
    linear_forward_float(x, w, dense);
    for (const std::int64_t space : {1, 16, 253}) {
      const at::Tensor apart = at::empty({s[0], s[2] + space}).narrow(1, 0, s[2]);
      linear_forward_float(x, w, apart);
      EXPECT_TRUE(at::equal(apart, dense)) << s[0] << " x " << s[1] << " x " << s[2] << ", " << space << " apart";
    }
  }
}

// y, dx, dw, dbias one after the other.
std::vector<at::Tensor> all_of(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias, const at::Tensor& dy) {
  const at::Tensor dw = at::empty_like(w), dbias = at::empty_like(bias);
  linear_backward_weight(dy, x, dw);
  linear_backward_bias(dy, dbias);
  return {linear_forward(x, w, bias), linear_backward_input(dy, w), dw, dbias};
}

TEST(LinearParity, BitsDoNotDependOnTheNumberOfThreads) {
  for (const auto& s : std::vector<std::vector<std::int64_t>>{
           {64, 48, 40}, {130, 700, 257}, {700, 64, 1100}, {1100, 2050, 33}, {3, 5000, 70}, {2050, 31, 129}}) {
    const at::Tensor x = random_normal("x", {s[0], s[1]}), w = random_normal("w", {s[2], s[1]});
    const at::Tensor bias = random_normal("bias", {s[2]}), dy = random_normal("dy", {s[0], s[2]});
    std::vector<std::vector<at::Tensor>> results;
    for (const int threads : {1, 2, 3, 7}) {
      tensor::set_threads(threads);
      results.push_back(all_of(x, w, bias, dy));
      for (std::size_t i = 0; i < results[0].size(); ++i) EXPECT_TRUE(at::equal(results[0][i], results.back()[i]));
    }
    tensor::set_threads(1);
  }
}

TEST(LinearParity, AWeightStoredByInputsAndABiasAgreeWithAutograd) {
  for (const at::ScalarType dtype : dtypes) {
    Parity stored(dtype), exact;
    for (const auto& s : linear_shapes) {
      const std::int64_t M = s[0], I = s[1], O = s[2];
      const at::Tensor x = random_normal("x", {M, I}).to(dtype), w_IO = random_normal("w", {I, O}).to(dtype);
      const at::Tensor bias = random_normal("bias", {O}).to(dtype), dy = random_normal("dy", {M, O}).to(dtype);
      const at::Tensor x_ref = leaf(x), w_ref = leaf(w_IO), bias_ref = leaf(bias);
      const at::Tensor y_ref = at::mm(x_ref, w_ref) + bias_ref;
      differentiate(y_ref, dy);
      stored.compare("y", linear_forward(x, w_IO.t(), bias), y_ref);
      stored.compare("dx", linear_backward_input(dy, w_IO.t()), x_ref.grad());
      const at::Tensor dw_IO = at::full({I, O}, 42.0f), dbias = at::full({O}, 42.0f);
      linear_backward_weight(dy, x, dw_IO.t());
      linear_backward_bias(dy, dbias);
      exact.compare("dw", dw_IO, w_ref.grad());
      exact.compare("dbias", dbias, bias_ref.grad());
    }
  }
}

// Positive numbers: where a result has one element, the rest of a cancellation would be all there is to compare with.
TEST(LinearParity, RandomShapes) {
  base::Draw draw("linear");
  Parity parity;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t M = random_size(draw, 200), I = random_size(draw, 300), O = random_size(draw, 300);
    const bool by_inputs = draw.one_in(2);
    const auto as_OI = [&](const at::Tensor& w) { return by_inputs ? w.t() : w; };
    const auto random = [](const char* name, at::IntArrayRef sizes) { return random_normal(name, sizes).abs_(); };
    const at::Tensor x = random("x", {M, I}), w = random("w", {by_inputs ? I : O, by_inputs ? O : I});
    const at::Tensor bias = random("bias", {O}), dy = random("dy", {M, O});
    const at::Tensor x_ref = leaf(x), w_ref = leaf(w), bias_ref = leaf(bias);
    const at::Tensor y_ref = at::mm(x_ref, as_OI(w_ref).t()) + bias_ref;
    differentiate(y_ref, dy);
    parity.compare("y", linear_forward(x, as_OI(w), bias), y_ref);
    parity.compare("dx", linear_backward_input(dy, as_OI(w)), x_ref.grad());
    const at::Tensor dw = at::full_like(w, 42.0f), dbias = at::full({O}, 42.0f);
    linear_backward_weight(dy, x, as_OI(dw));
    linear_backward_bias(dy, dbias);
    parity.compare("dw", dw, w_ref.grad());
    parity.compare("dbias", dbias, bias_ref.grad());
  }
}

TEST(LinearParity, ProductsOfSeveralTilesAgreeWithDouble) {
  Parity parity;
  for (const auto& s : std::vector<std::vector<std::int64_t>>{{520, 1030, 513}, {1100, 33, 1500}, {257, 4100, 300}}) {
    const at::Tensor x = random_normal("x", {s[0], s[1]}), w = random_normal("w", {s[2], s[1]});
    const at::Tensor dy = random_normal("dy", {s[0], s[2]}), dw = at::empty_like(w);
    linear_backward_weight(dy, x, dw);
    const auto exact = [](const at::Tensor& t) { return t.to(at::kDouble); };
    parity.compare("y", linear_forward(x, w), at::mm(exact(x), exact(w).t()));
    parity.compare("dx", linear_backward_input(dy, w), at::mm(exact(dy), exact(w)));
    parity.compare("dw", dw, at::mm(exact(dy).t(), exact(x)));
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
