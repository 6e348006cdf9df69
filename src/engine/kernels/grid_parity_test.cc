#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/flat.h"
#include "kernels/grid.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

constexpr std::int64_t chunk = 4096;

// Magnitudes over 60 powers of two, zeros, halves of the grid.
at::Tensor wide(const char* name, std::int64_t count) {
  at::Tensor x = random_normal(name, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = x.data_ptr<float>()[i];
    value = std::ldexp(value, static_cast<int>(i % 61) - 55);
    if (i % 17 == 0) value = 0;
    if (i % 19 == 0) value = std::ldexp(static_cast<float>(i % 7) - 3.5f, -50);
  }
  return x;
}

MagnitudeBits bits_of(float value) {
  MagnitudeBits bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The largest magnitude that an operation notes.
template <class Operation>
MagnitudeBits largest_of(Operation operation) {
  const at::Tensor largest = at::zeros({1}, at::kInt);
  operation(largest);
  return static_cast<MagnitudeBits>(largest.item<std::int32_t>());
}
MagnitudeBits added(const at::Tensor& sum, const at::Tensor& x, int shift, Into into) {
  return largest_of([&](const at::Tensor& largest) { add_on_grid(sum, x, {{x.numel(), shift}}, into, largest); });
}
MagnitudeBits rounded_to_grid(const at::Tensor& x, int shift) {
  return largest_of([&](const at::Tensor& largest) { round_to_grid(x, {{x.numel(), shift}}, largest); });
}

std::int64_t scalar_integer(float g, int shift) {
  return static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(g), shift)));
}

TEST(Grid, IntegersAreTheNearestOfTheScalarFormula) {
  for (const std::int64_t count : {1, 3, 16, 17, 70001}) {
    const at::Tensor x = wide("x", count);
    for (const int shift : {50, 20, -5}) {
      const at::Tensor sum = at::full({count}, 12345, at::kLong), fresh = at::empty({count}, at::kLong);
      const MagnitudeBits largest = added(sum, x, shift, Into::sum);
      EXPECT_EQ(added(fresh, x, shift, Into::fresh), largest);
      EXPECT_EQ(largest, bits_of(x.abs().max().item<float>()));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t want = scalar_integer(x.data_ptr<float>()[i], shift);
        ASSERT_EQ(fresh.data_ptr<std::int64_t>()[i], want) << i;
        ASSERT_EQ(sum.data_ptr<std::int64_t>()[i], want + 12345) << i;
      }
    }
  }
}

TEST(Grid, WhatWasLargerBeforeStays) {
  const at::Tensor largest = at::full({1}, static_cast<std::int32_t>(bits_of(8)), at::kInt);
  round_to_grid(at::full({9}, -4.0f), {{9, 10}}, largest);
  EXPECT_EQ(largest.item<std::int32_t>(), static_cast<std::int32_t>(bits_of(8)));
  add_on_grid(at::zeros({9}, at::kLong), at::full({9}, -16.0f), {{9, 10}}, Into::sum, largest);
  EXPECT_EQ(largest.item<std::int32_t>(), static_cast<std::int32_t>(bits_of(16)));
}

TEST(Grid, ARoundedLeafGivesTheIntegersOfTheLeaf) {
  const at::Tensor x = wide("x", 70001), rounded = x.clone(), a = at::empty({70001}, at::kLong), b = at::empty_like(a);
  add_on_grid(a, x, {{x.numel(), 50}}, Into::fresh);
  round_to_grid(rounded, {{rounded.numel(), 50}}, {});
  add_on_grid(b, rounded, {{rounded.numel(), 50}}, Into::fresh);
  EXPECT_TRUE(at::equal(a, b));
  const at::Tensor back = at::empty_like(x);
  from_integers(a, {{a.numel(), 50}}, back);
  EXPECT_TRUE(at::equal(back, rounded));
}

TEST(Grid, NumbersThatAreNoneStandAboveAllOthers) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::quiet_NaN()}) {
    const at::Tensor x = at::full({33}, 3e38f), sum = at::zeros({33}, at::kLong);
    EXPECT_LT(added(sum, x, -70, Into::fresh), infinity_bits);
    x.data_ptr<float>()[31] = bad;
    EXPECT_GE(added(sum, x, -70, Into::fresh), infinity_bits);
    EXPECT_GE(rounded_to_grid(x, -70), infinity_bits);
  }
}

TEST(Grid, ZerosLeaveTheSumAsItIs) {
  const at::Tensor x = at::zeros({3000}), sum = at::full({3000}, 7, at::kLong);
  x.data_ptr<float>()[299] = -0.0f;
  EXPECT_EQ(added(sum, x, 30, Into::sum), 0U);
  x.data_ptr<float>()[2999] = 1;
  EXPECT_EQ(added(sum, x, 30, Into::sum), bits_of(1));
  EXPECT_EQ(sum.sum().item<std::int64_t>(), 3000 * 7 + (std::int64_t{1} << 30));
}

// Parts whose borders cut rows.
TEST(Grid, RowsAreAddedAsFarAsTheyLieInThePart) {
  const std::int64_t v = 40, D = 67;
  const at::Tensor row_r = at::tensor({0, 3, 4, 17, 39}, at::kLong), x_rD = wide("x", 5 * D).view({5, D});
  const at::Tensor leaf_vD = at::zeros({v, D}).index_copy_(0, row_r, x_rD);
  const at::Tensor want = at::full({v * D}, 5, at::kLong), whole = want.clone(), by_reference = want.clone();
  const MagnitudeBits largest = added(want, leaf_vD.flatten(), 45, Into::sum);
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 10}, {10, 300}, {310, 0}, {310, 860}, {1170, v * D - 1170}}) {
    const MatrixPart part{whole.narrow(0, first, count), first}, other{by_reference.narrow(0, first, count), first};
    EXPECT_EQ(largest_of([&](const at::Tensor& l) { add_rows_on_grid(part, row_r, x_rD, 45, l); }), largest);
    EXPECT_EQ(largest_of([&](const at::Tensor& l) { reference::add_rows_on_grid(other, row_r, x_rD, 45, l); }),
              largest);
  }
  EXPECT_TRUE(at::equal(whole, want));
  EXPECT_TRUE(at::equal(by_reference, want));
}

TEST(Grid, SumsAreTheSameInAnyOrder) {
  const std::int64_t count = 5000;
  at::Tensor forth = at::zeros({count}, at::kLong), back = at::zeros({count}, at::kLong);
  for (int leaf = 0; leaf < 16; ++leaf) add_on_grid(forth, wide(std::to_string(leaf).c_str(), count), {{count, 50}}, Into::sum);
  at::Tensor half = at::zeros({count}, at::kLong);
  for (int leaf = 15; leaf >= 0; --leaf)
    add_on_grid(leaf % 3 == 0 ? half : back, wide(std::to_string(leaf).c_str(), count), {{count, 50}}, Into::sum);
  back.add_(half);
  EXPECT_TRUE(at::equal(forth, back));
}

TEST(Grid, TheReferenceGivesTheSameBits) {
  const at::Tensor x = wide("x", 9001), a = at::zeros({9001}, at::kLong), b = a.clone();
  for (const Into into : {Into::fresh, Into::sum}) {
    EXPECT_EQ(added(a, x, 47, into),
              largest_of([&](const at::Tensor& l) { reference::add_on_grid(b, x, 47, into, l); }));
    EXPECT_TRUE(at::equal(a, b));
  }
  const at::Tensor p = x.clone(), q = x.clone();
  EXPECT_EQ(rounded_to_grid(p, 47), largest_of([&](const at::Tensor& l) { reference::round_to_grid(q, 47, l); }));
  EXPECT_TRUE(at::equal(p, q));
  const at::Tensor y = at::empty_like(x), z = at::empty_like(x);
  const at::Tensor large = a * 123456789;  // beyond what a double holds
  from_integers(large, {{large.numel(), 47}}, y);
  reference::from_integers(large, 47, z);
  EXPECT_TRUE(at::equal(y, z));
}

TEST(Grid, SquaresAreThoseOfTheFloats) {
  const at::Tensor x = wide("x", 3 * chunk + 77), sum = at::empty({x.numel()}, at::kLong);
  add_on_grid(sum, x, {{x.numel(), 40}}, Into::fresh);
  const at::Tensor floats = at::empty_like(x);
  from_integers(sum, {{sum.numel(), 40}}, floats);
  EXPECT_TRUE(at::equal(integer_chunk_squares(sum, {{sum.numel(), 40}}, chunk), chunk_squares(floats, {floats.numel()}, chunk)));
}

}  // namespace
}  // namespace troika::kernels
