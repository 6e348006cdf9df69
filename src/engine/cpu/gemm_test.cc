#include "cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/parallel.h"
#include "cpu/flat.h"
#include "cpu/tile_units.h"

namespace troika::cpu {
namespace {

std::vector<float> numbers(std::int64_t count, int seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  unsigned state = static_cast<unsigned>(seed);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

struct Shape {
  std::int64_t M, N, K;
};
enum class Order { rows, columns };

Matrix stored(const std::vector<float>& data, std::int64_t rows, std::int64_t columns, Order order) {
  return order == Order::rows ? Matrix{data.data(), columns, 1} : Matrix{data.data(), 1, rows};
}

double exact(const Matrix& a, const Matrix& b, std::int64_t i, std::int64_t j, std::int64_t K) {
  double sum = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    sum += static_cast<double>(a.data[i * a.row_stride + k * a.column_stride]) *
           static_cast<double>(b.data[k * b.row_stride + j * b.column_stride]);
  }
  return sum;
}

void expect_product(const Shape& s, Order a_order, Order b_order, Addend::Kind kind) {
  const std::int64_t stride = s.N + 5;
  const auto a_data = numbers(s.M * s.K, 1), b_data = numbers(s.K * s.N, 2), row = numbers(s.N, 3);
  const auto before = numbers(s.M * stride, 4);
  auto c = before;
  const Matrix a = stored(a_data, s.M, s.K, a_order), b = stored(b_data, s.K, s.N, b_order);
  gemm(s.M, s.N, s.K, a, b, c.data(), stride, {kind, kind == Addend::Kind::row ? row.data() : nullptr});
  const double limit = 1e-5 * std::sqrt(static_cast<double>(s.K) + 1);
  for (std::int64_t i = 0; i < s.M; i += 1 + s.M / 37) {
    for (std::int64_t j = 0; j < stride; j += 1 + s.N / 41) {
      const auto at = static_cast<std::size_t>(i * stride + j);
      if (j >= s.N) {
        EXPECT_EQ(c[at], before[at]) << "outside C";
        continue;
      }
      double want = exact(a, b, i, j, s.K);
      if (kind == Addend::Kind::row) want += static_cast<double>(row[static_cast<std::size_t>(j)]);
      if (kind == Addend::Kind::output) want += static_cast<double>(before[at]);
      ASSERT_NEAR(c[at], want, limit) << s.M << "x" << s.N << "x" << s.K << " at " << i << ", " << j;
    }
  }
}

TEST(Gemm, GivesTheProductForEveryOrderAndAddend) {
  for (const Shape& s : std::vector<Shape>{{1, 1, 1},
                                           {1, 7, 3},
                                           {5, 1, 9},
                                           {3, 4, 0},
                                           {17, 33, 5},
                                           {129, 257, 31},
                                           {513, 40, 530},
                                           {769, 3, 70},
                                           {30, 1100, 513}}) {
    for (const Order a : {Order::rows, Order::columns}) {
      for (const Order b : {Order::rows, Order::columns}) {
        for (const Addend::Kind kind : {Addend::Kind::zero, Addend::Kind::row, Addend::Kind::output})
          expect_product(s, a, b, kind);
      }
    }
  }
}

std::vector<float> product_with(int threads, const Shape& s, Order a_order) {
  const auto a = numbers(s.M * s.K, 1), b = numbers(s.K * s.N, 2);
  std::vector<float> c(static_cast<std::size_t>(s.M * s.N));
  set_threads(threads);
  gemm(s.M, s.N, s.K, stored(a, s.M, s.K, a_order), stored(b, s.K, s.N, Order::rows), c.data(), s.N);
  set_threads(1);
  return c;
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  for (const Shape& s : std::vector<Shape>{{256, 256, 4096}, {512, 768, 2048}, {100, 60, 5000}, {1025, 513, 600}}) {
    for (const Order order : {Order::rows, Order::columns}) {
      const std::vector<float> one = product_with(1, s, order);
      EXPECT_EQ(one, product_with(2, s, order));
      EXPECT_EQ(one, product_with(5, s, order));
    }
  }
}

// Of the terms' sum of absolute values, an error is a few roundings whatever their sizes are: the parts of a float lose nothing.
TEST(Gemm, IsAsExactAsSumsInFp32) {
  const Shape s{70, 90, 1000};
  auto a = numbers(s.M * s.K, 1), b = numbers(s.K * s.N, 2);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], static_cast<int>(i * 7 % 60) - 30);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::ldexp(b[i], static_cast<int>(i * 5 % 40) - 20);
  for (const Order a_order : {Order::rows, Order::columns}) {
    for (const Order b_order : {Order::rows, Order::columns}) {
      const Matrix left = stored(a, s.M, s.K, a_order), right = stored(b, s.K, s.N, b_order);
      std::vector<float> c(static_cast<std::size_t>(s.M * s.N));
      gemm(s.M, s.N, s.K, left, right, c.data(), s.N);
      auto sizes_a = a, sizes_b = b;
      for (float& value : sizes_a) value = std::fabs(value);
      for (float& value : sizes_b) value = std::fabs(value);
      double total = 0;
      for (std::int64_t i = 0; i < s.M; ++i) {
        for (std::int64_t j = 0; j < s.N; ++j) {
          const double error = std::fabs(static_cast<double>(c[static_cast<std::size_t>(i * s.N + j)]) - exact(left, right, i, j, s.K));
          total += error / exact(stored(sizes_a, s.M, s.K, a_order), stored(sizes_b, s.K, s.N, b_order), i, j, s.K);
        }
      }
      EXPECT_LT(total / static_cast<double>(s.M * s.N), 0x1p-24) << "of the terms";
    }
  }
}

TEST(Gemm, WhatIsNotFiniteIsSeen) {
  std::vector<float> a(32 * 40, 1.0f), b(40 * 32, 1.0f), c(32 * 32);
  for (const std::uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u}) {
    for (std::vector<float>* operand : {&a, &b}) {
      std::memcpy(operand->data() + 7, &bits, sizeof(bits));
      gemm(32, 32, 40, stored(a, 32, 40, Order::rows), stored(b, 40, 32, Order::columns), c.data(), 32);
      (*operand)[7] = 1;
      EXPECT_FALSE(std::isfinite(c[0])) << std::hex << bits;
      EXPECT_EQ(c[33], 40) << "beside it";
    }
  }
}

TEST(Gemm, ProductsOfWholeNumbersAreExact) {
  const Shape s{40, 50, 300};
  std::vector<float> a(static_cast<std::size_t>(s.M * s.K)), b(static_cast<std::size_t>(s.K * s.N)), c(static_cast<std::size_t>(s.M * s.N));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 2654435761u % 16001) - 8000;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  const Matrix left = stored(a, s.M, s.K, Order::rows), right = stored(b, s.K, s.N, Order::columns);
  gemm(s.M, s.N, s.K, left, right, c.data(), s.N);
  for (std::int64_t i = 0; i < s.M; ++i)
    for (std::int64_t j = 0; j < s.N; ++j) ASSERT_EQ(c[static_cast<std::size_t>(i * s.N + j)], exact(left, right, i, j, s.K));
}

// Halves, on processors that multiply them; elsewhere there is no such product.
std::vector<Shape> shapes_of_halves() {
  if (!multiplies_halves()) return {};
  return {{1, 1, 1}, {1, 7, 3}, {5, 1, 9}, {3, 4, 0}, {17, 33, 5}, {129, 257, 31}, {513, 40, 530}, {30, 1100, 513}};
}

std::vector<Bf16> halves(const std::vector<float>& x) {
  std::vector<Bf16> y(x.size());
  round_to_halves(static_cast<std::int64_t>(x.size()), x.data(), y.data());
  return y;
}

std::vector<float> floats(const std::vector<Bf16>& x) {
  std::vector<float> y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), [](Bf16 value) { return to_float(value); });
  return y;
}

HalfMatrix stored(const std::vector<Bf16>& data, std::int64_t rows, std::int64_t columns, Order order) {
  return order == Order::rows ? HalfMatrix{data.data(), columns, 1} : HalfMatrix{data.data(), 1, rows};
}

void expect_product_of_halves(const Shape& s, Order a_order, Order b_order, Addend::Kind kind) {
  const auto a = halves(numbers(s.M * s.K, 1)), b = halves(numbers(s.K * s.N, 2));
  const auto wide_a = floats(a), wide_b = floats(b), row = numbers(s.N, 3);
  auto want = numbers(s.M * s.N, 4), got = want;
  const Addend addend{kind, kind == Addend::Kind::row ? row.data() : nullptr};
  gemm(s.M, s.N, s.K, stored(wide_a, s.M, s.K, a_order), stored(wide_b, s.K, s.N, b_order), want.data(), s.N, addend);
  gemm(s.M, s.N, s.K, stored(a, s.M, s.K, a_order), stored(b, s.K, s.N, b_order), got.data(), s.N, addend);
  const float limit = 1e-5f * std::sqrt(static_cast<float>(s.K) + 1);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], limit) << s.M << "x" << s.N << "x" << s.K;
  if (kind == Addend::Kind::output) return;
  std::vector<Bf16> rounded(got.size());
  gemm(s.M, s.N, s.K, stored(a, s.M, s.K, a_order), stored(b, s.K, s.N, b_order), rounded.data(), s.N, addend);
  EXPECT_EQ(floats(rounded), floats(halves(got)));
}

TEST(GemmOfHalves, GivesTheProductForEveryOrderAndAddendRoundedOnce) {
  for (const Shape& s : shapes_of_halves()) {
    for (const Order a : {Order::rows, Order::columns}) {
      for (const Order b : {Order::rows, Order::columns}) {
        for (const Addend::Kind kind : {Addend::Kind::zero, Addend::Kind::row, Addend::Kind::output})
          expect_product_of_halves(s, a, b, kind);
      }
    }
  }
}

// Parts of C get further products, as an adapter's: equal to the sum of all, rounded once, whatever tiles cut.
TEST(Gemm, AddsFurtherProductsToColumnsBeforeItRounds) {
  for (const Shape& s : std::vector<Shape>{{1, 7, 3}, {30, 33, 0}, {129, 700, 31}, {600, 1100, 70}}) {
    const std::int64_t begin = s.N / 3, columns = s.N / 2, K = 5;
    const auto a = numbers(s.M * s.K, 1), b = numbers(s.K * s.N, 2), x = numbers(s.M * K, 3), w = numbers(K * columns, 4), v = numbers(K, 5);
    const ColumnProducts<float> more{{begin, columns, K, {x.data(), K, 1}, {w.data(), 1, K}}, {s.N - 1, 1, K, {x.data(), K, 1}, {v.data(), 1, 1}}};
    std::vector<float> got(static_cast<std::size_t>(s.M * s.N)), want = got;
    std::vector<Bf16> rounded(got.size());
    gemm(s.M, s.N, s.K, stored(a, s.M, s.K, Order::rows), stored(b, s.K, s.N, Order::rows), got.data(), s.N, {}, more);
    gemm(s.M, s.N, s.K, stored(a, s.M, s.K, Order::rows), stored(b, s.K, s.N, Order::rows), rounded.data(), s.N, {}, more);
    EXPECT_EQ(floats(rounded), floats(halves(got)));
    gemm(s.M, s.N, s.K, stored(a, s.M, s.K, Order::rows), stored(b, s.K, s.N, Order::rows), want.data(), s.N);
    for (const ColumnProduct<float>& one : more)
      gemm(s.M, one.columns, K, one.a, one.b, want.data() + one.first, s.N, {Addend::Kind::output, nullptr});
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << s.M << "x" << s.N << "x" << s.K << " at " << i;
  }
}

TEST(Gemm, RoundsToHalvesOnce) {
  for (const Shape& s : std::vector<Shape>{{1, 1, 1}, {3, 4, 0}, {129, 257, 31}, {513, 40, 530}}) {
    const auto a = numbers(s.M * s.K, 1), b = numbers(s.K * s.N, 2), row = numbers(s.N, 3);
    const Matrix left = stored(a, s.M, s.K, Order::columns), right = stored(b, s.K, s.N, Order::rows);
    std::vector<float> want(static_cast<std::size_t>(s.M * s.N));
    std::vector<Bf16> got(want.size());
    const Addend addend{Addend::Kind::row, row.data()};
    gemm(s.M, s.N, s.K, left, right, want.data(), s.N, addend);
    gemm(s.M, s.N, s.K, left, right, got.data(), s.N, addend);
    EXPECT_EQ(floats(got), floats(halves(want)));
  }
}

template <class Element>
struct Product {
  Shape shape;
  std::vector<Element> a, b;
  Order a_order, b_order;

  // The product of rows [i, i + m) of A and columns [j, j + n) of B, on that many threads.
  std::vector<float> part(std::int64_t i, std::int64_t m, std::int64_t j, std::int64_t n, int threads) const {
    MatrixOf<Element> left = stored(a, shape.M, shape.K, a_order), right = stored(b, shape.K, shape.N, b_order);
    left.data += i * left.row_stride;
    right.data += j * right.column_stride;
    std::vector<float> c(static_cast<std::size_t>(m * n));
    set_threads(threads);
    gemm(m, n, shape.K, left, right, c.data(), n);
    set_threads(1);
    return c;
  }
};

template <class Element>
void expect_parts_of(const Product<Element>& product, const std::vector<float>& whole) {
  const Shape& s = product.shape;
  for (const std::int64_t m : {1, 2, 3, 17, 64, 300}) {
    for (const std::int64_t n : {1, 2, 31, 513}) {
      const std::int64_t i = s.M - m - 1, j = s.N - n;
      const std::vector<float> part = product.part(i, m, j, n, 2);
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t c = 0; c < n; ++c)
          ASSERT_EQ(part[static_cast<std::size_t>(r * n + c)], whole[static_cast<std::size_t>((i + r) * s.N + j + c)])
              << m << " x " << n << " of " << s.M << " x " << s.N << " x " << s.K << " at " << r << ", " << c;
    }
  }
}

template <class Element, class Convert>
void expect_bits_of_any_part(const Convert& convert) {
  for (const Shape& s : std::vector<Shape>{{520, 530, 96}, {390, 513, 1537}}) {
    for (const Order a : {Order::rows, Order::columns}) {
      for (const Order b : {Order::rows, Order::columns}) {
        const Product<Element> product{s, convert(numbers(s.M * s.K, 1)), convert(numbers(s.K * s.N, 2)), a, b};
        const std::vector<float> whole = product.part(0, s.M, 0, s.N, 1);
        EXPECT_EQ(whole, product.part(0, s.M, 0, s.N, 2));
        EXPECT_EQ(whole, product.part(0, s.M, 0, s.N, 3));
        expect_parts_of(product, whole);
      }
    }
  }
}

TEST(GemmOfHalves, AnElementHasTheSameBitsWhateverIsBesideItAndOnAnyNumberOfThreads) {
  if (multiplies_halves()) expect_bits_of_any_part<Bf16>(halves);
}

TEST(GemmByMatrixUnits, AnElementOfFloatsHasTheSameBitsWhateverIsBesideItAndOnAnyNumberOfThreads) {
  if (has_tile_units()) expect_bits_of_any_part<float>([](std::vector<float> x) { return x; });
}

}  // namespace
}  // namespace troika::cpu
