// Rotary positions and their table. B sequences, T positions, n heads, H head width, I pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "kernels/rope.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

// Pair i as one complex number times e^(i angle), in double.
at::Tensor turned(const at::Tensor& x_BTnH, const RopeFrequencies& f, const std::vector<std::int64_t>& positions) {
  const std::int64_t T = x_BTnH.size(1), I = f.head_dim / 2;
  at::Tensor angle_TI = at::empty({T, I}, at::kDouble);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t i = 0; i < I; ++i)
      angle_TI[t][i] = static_cast<double>(positions[static_cast<std::size_t>(t)]) *
                       std::exp(-std::log(f.theta) * 2 * static_cast<double>(i) / static_cast<double>(f.head_dim));
  }
  const auto pairs = x_BTnH.split(I, 3);
  const at::Tensor y = at::view_as_real(at::complex(pairs[0], pairs[1]) *
                                        at::polar(at::ones({T, I}, at::kDouble), angle_TI).unsqueeze(1));
  return at::cat({y.select(4, 0), y.select(4, 1)}, 3);
}

struct Case {
  std::int64_t B, T, n, H;
  double theta;
  std::vector<std::int64_t> positions;  // may be more than T
};

void expect_parity(at::ScalarType dtype, const Case& c) {
  Parity parity(dtype);
  const RopeTable rope = make_rope_table(c.positions, {c.H, c.theta}, tensor::Device());
  // The heads of interest are a strided view inside wider rows, as in a joint q, k, v projection.
  const at::Tensor x = random_normal("x", {c.B, c.T, c.n + 3, c.H}).to(dtype).narrow(2, 1, c.n);
  const at::Tensor dy = random_normal("dy", {c.B, c.T, c.n, c.H}).to(dtype), x_ref = leaf(x);
  const at::Tensor y_ref = turned(x_ref, {c.H, c.theta}, c.positions);
  differentiate(y_ref, dy);

  const at::Tensor y = rope_forward(x, rope), dx = at::full_like(x, 42.0f);
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_EQ(y.scalar_type(), dtype);
  parity.compare("y", y, y_ref);
  rope_backward(dy, rope, dx);
  parity.compare("dx", dx, x_ref.grad());
}

TEST(RopeParity, ForwardAndGradientAgreeWithAutogradInEveryDtype) {
  for (const at::ScalarType dtype : dtypes) {
    expect_parity(dtype, {1, 1, 1, 2, 1e4, {0}});
    expect_parity(dtype, {2, 24, 4, 16, 1e6, positions_from(0, 24)});
    expect_parity(dtype, {3, 7, 5, 6, 1e6, positions_from(11, 7)});
    expect_parity(dtype, {1, 33, 3, 10, 1e4, positions_from(1000, 40)});  // more positions than x has
    expect_parity(dtype, {2, 1, 2, 128, 5e5, {4095}});
    expect_parity(dtype, {1, 300, 7, 32, 1e6, positions_from(0, 300)});
    expect_parity(dtype, {1, 5, 1, 64, 1e6, positions_from(40000, 5)});
    expect_parity(dtype, {2, 6, 2, 8, 1e4, {0, 1, 2, 21, 22, 23}});  // two pieces of a split context
  }
}

TEST(RopeParity, RandomShapes) {
  base::Draw draw("rope");
  for (int i = 0; i < 20; ++i) {
    const std::int64_t T = random_size(draw, 60), H = 2 * random_size(draw, 70);
    expect_parity(at::kFloat, {draw.from(1, 3), T, draw.from(1, 5), H, 1e6, positions_from(draw.from(0, 5000), T)});
  }
}

TEST(RopeParity, TheReferenceGivesTheBitsOfThePlainFormula) {
  const RopeTable rope = make_rope_table(positions_from(3, 9), {8, 1e4}, tensor::Device());
  const at::Tensor x = random_normal("x", {2, 9, 3, 8}), cos = rope.cos_TI.unsqueeze(1), sin = rope.sin_TI.unsqueeze(1);
  const at::Tensor first = x.narrow(3, 0, 4), second = x.narrow(3, 4, 4);
  EXPECT_TRUE(at::equal(reference::rope_forward(x, rope),
                        at::cat({first * cos - second * sin, second * cos + first * sin}, 3)));
}

TEST(RopeParity, WritesOnlyItsOwnHeadsOfAWiderGradient) {
  const RopeTable rope = make_rope_table(positions_from(0, 5), {20, 1e4}, tensor::Device());
  for (const at::ScalarType dtype : dtypes) {
    const at::Tensor dy = random_normal("dy", {2, 5, 3, 20}).to(dtype), alone = at::empty_like(dy);
    const at::Tensor wide = at::full({2, 5, 7, 20}, 42.0f, dtype);
    rope_backward(dy, rope, wide.narrow(2, 2, 3));
    rope_backward(dy, rope, alone);
    EXPECT_TRUE(at::equal(wide.narrow(2, 2, 3), alone));
    EXPECT_TRUE(at::equal(wide.narrow(2, 0, 2), at::full({2, 5, 2, 20}, 42.0f, dtype)));
    EXPECT_TRUE(at::equal(wide.narrow(2, 5, 2), at::full({2, 5, 2, 20}, 42.0f, dtype)));
  }
}

TEST(RopeParity, PickedRowsGiveTheBitsOfATablePutTogetherFromThem) {
  const RopeTable all = make_rope_table(positions_from(0, 20), {10, 1e4}, tensor::Device());
  RopeTable picking = all;
  picking.row_BT = at::tensor({0, 1, 2, 0, 1, 0, 19, 3, 0, 1}, at::kLong).view({2, 5});
  const at::Tensor x = random_normal("x", {2, 5, 3, 10}), dy = random_normal("dy", x.sizes());
  const at::Tensor y = rope_forward(x, picking), dx = at::empty_like(x), dx_b = at::empty({1, 5, 3, 10});
  rope_backward(dy, picking, dx);
  for (std::int64_t b = 0; b < 2; ++b) {
    const RopeTable of_b = rows(all, picking.row_BT[b]);
    EXPECT_TRUE(at::equal(y.narrow(0, b, 1), rope_forward(x.narrow(0, b, 1), of_b)));
    EXPECT_TRUE(at::equal(reference::rope_forward(x, picking).narrow(0, b, 1),
                          reference::rope_forward(x.narrow(0, b, 1), of_b)));
    rope_backward(dy.narrow(0, b, 1), of_b, dx_b);
    EXPECT_TRUE(at::equal(dx.narrow(0, b, 1), dx_b));
  }
}

TEST(RopeTable, ARowDependsOnItsPositionAlone) {
  const RopeTable all = make_rope_table(positions_from(0, 50), {16, 1e6}, tensor::Device());
  const RopeTable some = make_rope_table({49, 0, 7, 7}, {16, 1e6}, tensor::Device());
  const RopeTable picked = rows(all, at::tensor({49, 0, 7, 7}, at::kLong));
  EXPECT_TRUE(at::equal(some.cos_TI, picked.cos_TI));
  EXPECT_TRUE(at::equal(some.sin_TI, picked.sin_TI));
}

// The angles of position 1; of pairs whose wavelength is above 6.3 positions they are the arc sine.
std::vector<double> frequencies(const RopeFrequencies& f) {
  const at::Tensor sin_I = tensor::theirs(make_rope_table({1}, f, tensor::Device()).sin_TI[0]).to(at::kDouble);
  return {sin_I.data_ptr<double>(), sin_I.data_ptr<double>() + sin_I.numel()};
}

TEST(RopeTable, LinearScalingDividesEveryFrequency) {
  const RopeScaling scaling{RopeScaling::Kind::linear, 4};
  const auto got = frequencies({64, 1e4, scaling});
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], std::sin(std::pow(1e4, -static_cast<double>(i) / 32) / 4), 1e-7) << i;
}

// The numbers of Llama 3.1: 8192 positions were trained on, so wavelengths up to 2048 stay and those above 8192 are
// eight times as long.
TEST(RopeTable, Llama3ScalingStretchesLongWavelengthsAndBlendsTheMiddle) {
  const auto got = frequencies({128, 5e5, {RopeScaling::Kind::llama3, 8, 1, 4, 8192}});
  int left = 0, blended = 0, stretched = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double frequency = std::pow(5e5, -static_cast<double>(i) / 64), wavelength = 2 * M_PI / frequency;
    const double smooth = (8192 / wavelength - 1) / 3;
    double want = (1 - smooth) * frequency / 8 + smooth * frequency;
    if (wavelength < 2048) want = frequency;
    if (wavelength > 8192) want = frequency / 8;
    ++(wavelength < 2048 ? left : wavelength > 8192 ? stretched : blended);
    EXPECT_NEAR(got[i], std::sin(want), 6e-8 * std::sin(want) + 1e-12) << i;
  }
  EXPECT_EQ(left, 29);
  EXPECT_EQ(blended, 6);
  EXPECT_EQ(stretched, 29);
}

}  // namespace
}  // namespace troika::kernels
