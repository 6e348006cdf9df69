#include "cpu/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

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
  omp_set_num_threads(threads);
  gemm(s.M, s.N, s.K, stored(a, s.M, s.K, a_order), stored(b, s.K, s.N, Order::rows), c.data(), s.N);
  omp_set_num_threads(1);
  return c;
}

// The system may grant fewer threads than asked for, down to one, which the matrix library would take for free rein.
TEST(Gemm, BitsDoNotDependOnThreadsAskedForOrGranted) {
  for (const Shape& s : std::vector<Shape>{{256, 256, 4096}, {512, 768, 2048}, {100, 60, 5000}, {1025, 513, 600}}) {
    for (const Order order : {Order::rows, Order::columns}) {
      const std::vector<float> one = product_with(1, s, order);
      EXPECT_EQ(one, product_with(2, s, order));
      EXPECT_EQ(one, product_with(5, s, order));
      const int levels = omp_get_max_active_levels();
      omp_set_max_active_levels(0);  // every team has one thread from here on
      EXPECT_EQ(one, product_with(4, s, order));
      omp_set_max_active_levels(levels);
    }
  }
}

}  // namespace
}  // namespace troika::cpu
