#include "cpu/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

std::vector<float> factors(std::int64_t count, unsigned state) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

enum class Along { rows, columns };

Matrix along(const std::vector<float>& data, std::int64_t rows, std::int64_t columns, Along order) {
  return order == Along::rows ? Matrix{data.data(), columns, 1} : Matrix{data.data(), 1, rows};
}

struct Size {
  std::int64_t M, N, K;
};
const std::vector<Size> sizes{{1, 1, 1}, {7, 5, 3}, {8, 12, 256}, {16, 48, 257}, {131, 61, 515}, {40, 1600, 33}};
constexpr std::int64_t beyond = 3;  // elements between two rows of C

// The sum as product.h defines it: in ascending order, fused, in pieces whose sums are added in their order.
float defined(const Matrix& a, const Matrix& b, std::int64_t i, std::int64_t j, std::int64_t K, float beta, float c) {
  float total = c;
  for (std::int64_t begin = 0; begin < K; begin += product_piece) {
    float sum = 0;
    for (std::int64_t k = begin; k < std::min(K, begin + product_piece); ++k)
      sum =
          std::fma(a.data[i * a.row_stride + k * a.column_stride], b.data[k * b.row_stride + j * b.column_stride], sum);
    total = begin == 0 && beta == 0 ? sum : total + sum;
  }
  return total;
}

// The targets that module cpu is compiled for and that have fused multiply-add; on others each product is rounded.
bool fused() { return (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3 | HWY_NEON)) != 0; }

void expect_defined_bits(const Size& s, Along a_order, Along b_order, float beta) {
  const auto a_data = factors(s.M * s.K, 1), b_data = factors(s.K * s.N, 2);
  const std::int64_t stride = s.N + beyond;
  const auto before = factors(s.M * stride, 3);
  const Matrix a = along(a_data, s.M, s.K, a_order), b = along(b_data, s.K, s.N, b_order);
  auto want = before;
  for (std::int64_t i = 0; i < s.M; ++i) {
    for (std::int64_t j = 0; j < s.N; ++j) {
      float& at = want[static_cast<std::size_t>(i * stride + j)];
      at = defined(a, b, i, j, s.K, beta, at);
    }
  }
  on_every_target([&] {
    auto c = before;
    product(s.M, s.N, s.K, a, b, beta, c.data(), stride);
    for (std::size_t at = 0; at < c.size(); ++at)
      ASSERT_TRUE(fused() ? c[at] == want[at] : std::abs(c[at] - want[at]) < 1e-4f)
          << s.M << " x " << s.N << " x " << s.K << " at " << at << ": " << c[at] << ", not " << want[at];
  });
}

TEST(Product, HasTheBitsThatItsHeaderDefinesOnEveryTarget) {
  for (const Size& s : sizes) {
    for (const Along a : {Along::rows, Along::columns})
      for (const Along b : {Along::rows, Along::columns})
        for (const float beta : {0.0f, 1.0f}) expect_defined_bits(s, a, b, beta);
  }
}

TEST(Product, LetsNotANumberAndInfinityThrough) {
  std::vector<float> a = factors(9 * 20, 1), b = factors(20 * 13, 2), c(9 * 13);
  a[3 * 20 + 4] = std::nanf("");
  b[5 * 13 + 2] = INFINITY;
  product(9, 13, 20, {a.data(), 20, 1}, {b.data(), 13, 1}, 0, c.data(), 13);
  for (std::size_t j = 0; j < 13; ++j) EXPECT_TRUE(std::isnan(c[3 * 13 + j])) << j;
  EXPECT_TRUE(std::isinf(c[2]));
  EXPECT_TRUE(std::isfinite(c[0]));
}

}  // namespace
}  // namespace troika::cpu
