#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/parallel.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

std::vector<float> numbers(std::int64_t count, unsigned state) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 24) / 128.0f - 1.0f;  // exact in eight bits, so in a half, too
  }
  return values;
}

std::uint16_t as_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

std::uint16_t as_fp16(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(value), &exponent);  // [0.5, 1)
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                    static_cast<int>((fraction * 2 - 1) * 1024));
}

struct Shape {
  std::int64_t I, O;
};

// A weight of small numbers that all three kinds of elements hold exactly.
struct FewRowsCase {
  FewRowsCase(const Shape& shape, Dtype element, Weight::Order order)
      : s(shape), values(numbers(s.I * s.O, 2)), bias(numbers(s.O, 3)) {
    for (const float value : values)
      halves.push_back(element == Dtype::fp16 ? as_fp16(value) : as_bf16(value));
    const bool whole = element == Dtype::fp32;
    weight = {element, order, s.I, s.O,
              whole ? static_cast<const void*>(values.data()) : static_cast<const void*>(halves.data())};
  }
  double at(std::int64_t i, std::int64_t o) const {
    return static_cast<double>(
        values[static_cast<std::size_t>(weight.order == Weight::Order::out_in ? o * s.I + i : i * s.O + o)]);
  }
  std::vector<float> product(const std::vector<float>& x, std::int64_t M, bool with_bias = true) const {
    std::vector<float> y(static_cast<std::size_t>(M * s.O), 42.0f);
    multiply_few_rows(M, x.data(), weight, with_bias ? bias.data() : nullptr, y.data(), s.O);
    return y;
  }

  Shape s;
  std::vector<float> values, bias;
  std::vector<std::uint16_t> halves;
  Weight weight;
};

void for_each_case(const std::vector<Shape>& shapes, const std::function<void(const FewRowsCase&)>& body) {
  for (const Shape& s : shapes)
    for (const auto element : {Dtype::fp32, Dtype::bf16, Dtype::fp16})
      for (const auto order : {Weight::Order::out_in, Weight::Order::in_out}) body(FewRowsCase(s, element, order));
}

TEST(FewRows, GivesTheProductForEveryElementOrderAndTarget) {
  on_every_target([] {
    for_each_case({{1, 1}, {7, 3}, {16, 8}, {33, 17}, {300, 129}, {5, 1050}}, [](const FewRowsCase& c) {
      for (const std::int64_t M : {1, 2, 5, 16}) {
        const std::vector<float> x = numbers(M * c.s.I, 1), y = c.product(x, M), bare = c.product(x, M, false);
        for (std::int64_t m = 0; m < M; ++m) {
          for (std::int64_t o = 0; o < c.s.O; ++o) {
            double want = 0;
            for (std::int64_t i = 0; i < c.s.I; ++i)
              want += static_cast<double>(x[static_cast<std::size_t>(m * c.s.I + i)]) * c.at(i, o);
            const auto at = static_cast<std::size_t>(m * c.s.O + o);
            const double limit = 1e-6 * std::sqrt(static_cast<double>(c.s.I) + 1);
            ASSERT_NEAR(bare[at], want, limit) << M << "x" << c.s.I << "x" << c.s.O;
            ASSERT_NEAR(y[at], want + static_cast<double>(c.bias[static_cast<std::size_t>(o)]), limit);
          }
        }
      }
    });
  });
}

TEST(FewRows, ARowHasTheSameBitsAloneAndBesideOthers) {
  on_every_target([] {
    for_each_case({{96, 40}, {333, 77}, {260, 1100}}, [](const FewRowsCase& c) {
      std::vector<float> x = numbers(few_rows * c.s.I, 1);
      for (float& value : x) value *= 1.1f;  // sums that round
      const std::vector<float> all = c.product(x, few_rows);
      for (const std::int64_t M : {1, 2, 3, 8, 13}) {
        const std::vector<float> some = c.product(x, M);
        ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << M;
      }
    });
  });
}

TEST(FewRows, BitsDoNotDependOnThreads) {
  for_each_case({{333, 700}, {1030, 2100}}, [](const FewRowsCase& c) {
    std::vector<float> x = numbers(3 * c.s.I, 1);
    for (float& value : x) value *= 1.1f;
    const std::vector<float> one = c.product(x, 3);
    for (const int threads : {2, 5}) {
      set_threads(threads);
      EXPECT_EQ(c.product(x, 3), one);
    }
    set_threads(1);
  });
}

TEST(FewRows, NoInputsGiveTheBias) {
  for_each_case({{0, 5}}, [](const FewRowsCase& c) { EXPECT_EQ(c.product({}, 1), c.bias); });
}

}  // namespace
}  // namespace troika::cpu
