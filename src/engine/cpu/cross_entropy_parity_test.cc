#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "cpu/rows.h"
#include "cpu/parallel.h"
#include "cpu/flat.h"
#include "cpu/targets_test_support.h"

namespace troika::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct CrossEntropyCase {
  LogitRows rows;
  std::vector<float> x, scale;
  std::vector<std::int64_t> target;  // below and above [0, v) too

  double logit(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(x[static_cast<std::size_t>(i * rows.stride + j)]);
  }
};

CrossEntropyCase make_case(std::int64_t M, std::int64_t v, std::int64_t gap, float spread, float middle) {
  CrossEntropyCase c{{M, v, v + gap}, std::vector<float>(static_cast<std::size_t>(M * (v + gap))), {}, {}};
  const base::Philox random(static_cast<std::uint64_t>(v), "logits");
  random.fill_normal(0, M * (v + gap), c.x.data());
  for (float& value : c.x) value = value * spread + middle;
  for (std::int64_t i = 0; i < M; ++i) {
    const double drawn = random.uniform(static_cast<std::uint64_t>(i));
    c.target.push_back(static_cast<std::int64_t>(drawn * static_cast<double>(v + 2)) - 1);
    c.scale.push_back(i % 5 == 3 ? 0.0f : 0.25f + static_cast<float>(i % 3));
  }
  return c;
}

std::vector<CrossEntropyCase> cross_entropy_cases() {
  return {make_case(1, 1, 0, 1, 0),       make_case(3, 2, 1, 5, -40),    make_case(40, 17, 3, 2, 0),
          make_case(5, 2047, 0, 4, 1e4f), make_case(7, 2048, 0, 8, 0),   make_case(7, 4099, 13, 8, -300),
          make_case(2, 50257, 0, 3, 0),   make_case(300, 259, 0, 30, 0), make_case(1, 200001, 0, 0.1f, 7),
          make_case(3000, 16, 0, 1, 0)};
}

double exact_lse(const CrossEntropyCase& c, std::int64_t i) {
  double most = c.logit(i, 0), sum = 0;
  for (std::int64_t j = 0; j < c.rows.v; ++j) most = std::max(most, c.logit(i, j));
  for (std::int64_t j = 0; j < c.rows.v; ++j) sum += std::exp(c.logit(i, j) - most);
  return most + std::log(sum);
}

std::vector<float> lse_of(const CrossEntropyCase& c) {
  std::vector<float> lse(static_cast<std::size_t>(c.rows.M));
  log_sum_exp_rows(c.rows, c.x.data(), lse.data());
  return lse;
}

std::vector<float> gradient_of(const CrossEntropyCase& c, const std::vector<float>& lse) {
  std::vector<float> x = c.x;
  cross_entropy_gradient_rows(c.rows, {}, x.data(), lse.data(), c.target.data(), c.scale.data());
  return x;
}

void expect_lse_agrees(const CrossEntropyCase& c) {
  const std::vector<float> lse = lse_of(c);
  double error = 0, largest = 0;
  for (std::int64_t i = 0; i < c.rows.M; ++i) {
    const double want = exact_lse(c, i);
    error = std::max(error, std::abs(static_cast<double>(lse[static_cast<std::size_t>(i)]) - want));
    largest = std::max(largest, std::abs(want));
  }
  EXPECT_LT(error, 1e-6 * largest) << c.rows.M << " x " << c.rows.v;
}

// With the same fp32 log-sum-exp: its rounding is not this operation's.
void expect_gradient_agrees(const CrossEntropyCase& c) {
  const std::vector<float> lse = lse_of(c), got = gradient_of(c, lse);
  double error = 0, largest = 0;
  for (std::int64_t i = 0; i < c.rows.M; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::int64_t j = 0; j < c.rows.stride; ++j) {
      const auto at = static_cast<std::size_t>(i * c.rows.stride + j);
      if (j >= c.rows.v) {
        ASSERT_EQ(got[at], c.x[at]) << "between the rows";
        continue;
      }
      // The difference is rounded to float once; with logits far from 0 this is what fp32 logits cost.
      const double difference = static_cast<double>(c.x[at] - lse[row]);
      const double want = static_cast<double>(c.scale[row]) * (std::exp(difference) - (c.target[row] == j ? 1 : 0));
      error = std::max(error, std::abs(static_cast<double>(got[at]) - want));
      largest = std::max(largest, std::abs(want));
    }
  }
  EXPECT_LE(error, 1e-6 * largest) << c.rows.M << " x " << c.rows.v;
}

TEST(LogSumExpRowsParity, AgreeWithDoubleOnEveryTarget) {
  for (const CrossEntropyCase& c : cross_entropy_cases()) on_every_target([&] { expect_lse_agrees(c); });
}

TEST(CrossEntropyGradientRowsParity, AgreeWithDoubleOnEveryTarget) {
  for (const CrossEntropyCase& c : cross_entropy_cases()) on_every_target([&] { expect_gradient_agrees(c); });
}

TEST(CrossEntropyRows, HaveTheSameBitsOnOneTwoAndThreeThreads) {
  const int before = threads();
  for (const CrossEntropyCase& c : cross_entropy_cases()) {
    set_threads(1);
    const std::vector<float> lse = lse_of(c), gradient = gradient_of(c, lse);
    for (const int threads : {2, 3}) {
      set_threads(threads);
      EXPECT_EQ(lse_of(c), lse);
      EXPECT_EQ(gradient_of(c, lse), gradient);
    }
  }
  set_threads(before);
}

TEST(LogSumExpRows, OfMinusInfinitiesIsMinusInfinity) {
  for (const std::int64_t v : {1, 16, 5000}) {
    CrossEntropyCase c = make_case(2, v, 0, 1, 0);
    std::fill_n(c.x.begin(), v, -infinity);
    const std::vector<float> lse = lse_of(c);
    EXPECT_EQ(lse[0], -infinity);
    EXPECT_TRUE(std::isfinite(lse[1]));
  }
}

TEST(LogSumExpRows, OfOneValueAmongMinusInfinitiesIsTheValue) {
  for (const std::int64_t place : {0, 2047, 2048, 4999}) {
    CrossEntropyCase c = make_case(1, 5000, 0, 1, 0);
    std::fill(c.x.begin(), c.x.end(), -infinity);
    c.x[static_cast<std::size_t>(place)] = -3.25f;
    EXPECT_EQ(lse_of(c)[0], -3.25f) << place;
  }
}

TEST(LogSumExpRows, AreNotFiniteWhereALogitIsNot) {
  on_every_target([] {
    for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
      for (const std::size_t place : {std::size_t{0}, std::size_t{100}, std::size_t{4998}}) {
        CrossEntropyCase c = make_case(1, 5000 - 1, 0, 1, 0);
        c.x[place] = bad;
        EXPECT_FALSE(std::isfinite(lse_of(c)[0])) << bad << " at " << place;
      }
    }
  });
}

TEST(CrossEntropyGradientRows, SumToNothingInARowThatHoldsItsTarget) {
  CrossEntropyCase c = make_case(4, 50257, 0, 3, 0);
  c.target = {0, 50256, 17, 2048};
  c.scale = {1, 1, 1, 1};
  const std::vector<float> gradient = gradient_of(c, lse_of(c));
  for (std::int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 50257; ++j)
      sum += static_cast<double>(gradient[static_cast<std::size_t>(i * 50257 + j)]);
    EXPECT_NEAR(sum, 0, 1e-5);
  }
}

std::uint16_t half_of(float x) {
  Bf16 y;
  round_to_halves(1, &x, &y);
  return y.bits;
}

TEST(CrossEntropyGradientRows, InHalvesAreTheRoundedGradientInTheFirstHalfOfARow) {
  for (const CrossEntropyCase& c : cross_entropy_cases()) {
    on_every_target([&] {
      const std::vector<float> lse = lse_of(c), gradient = gradient_of(c, lse);
      std::vector<float> x = c.x;
      cross_entropy_gradient_rows(c.rows, {Dtype::fp32, Dtype::bf16}, x.data(), lse.data(), c.target.data(),
                                  c.scale.data());
      for (std::int64_t i = 0; i < c.rows.M; ++i) {
        const auto* const row = reinterpret_cast<const std::uint16_t*>(x.data() + i * c.rows.stride);
        for (std::int64_t j = 0; j < c.rows.v; ++j)
          ASSERT_EQ(row[j], half_of(gradient[static_cast<std::size_t>(i * c.rows.stride + j)])) << i << ", " << j;
      }
    });
  }
}

// The kept values are relative to the log-sum-exp, and become the gradient with one of 0.
TEST(CrossEntropyGradientRows, OfKeptHalvesAreThoseOfTheirFloats) {
  for (CrossEntropyCase c : cross_entropy_cases()) {
    std::vector<float> lse(static_cast<std::size_t>(c.rows.M)), nothing(lse.size());
    std::vector<Bf16> kept(static_cast<std::size_t>(c.rows.M * c.rows.v));
    log_sum_exp_rows(c.rows, c.x.data(), lse.data(), kept.data());
    EXPECT_EQ(lse, lse_of(c));
    for (std::int64_t i = 0; i < c.rows.M; ++i) {
      for (std::int64_t j = 0; j < c.rows.v; ++j) {
        float& x = c.x[static_cast<std::size_t>(i * c.rows.stride + j)];
        const Bf16 half = kept[static_cast<std::size_t>(i * c.rows.v + j)];
        ASSERT_EQ(half.bits, half_of(x - lse[static_cast<std::size_t>(i)]));
        x = to_float(half);
      }
    }
    const std::vector<float> want = gradient_of(c, nothing);
    cross_entropy_gradient_rows({c.rows.M, c.rows.v, c.rows.v}, {Dtype::bf16, Dtype::bf16}, kept.data(), nothing.data(),
                                c.target.data(), c.scale.data());
    for (std::int64_t i = 0; i < c.rows.M * c.rows.v; ++i)
      ASSERT_EQ(kept[static_cast<std::size_t>(i)].bits,
                half_of(want[static_cast<std::size_t>(i / c.rows.v * c.rows.stride + i % c.rows.v)]));
  }
}

}  // namespace
}  // namespace troika::cpu
