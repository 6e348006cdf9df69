#include <limits>

#include "cuda/cross_entropy_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct LogitShape {
  std::int64_t M, v, gap;
  float spread, middle;
};
const LogitShape logit_shapes[] = {{1, 1, 0, 1, 0},       {3, 2, 1, 5, -40},   {37, 17, 3, 2, 0},
                                   {3, 2047, 0, 4, 1e4f}, {3, 2048, 0, 8, 0},  {3, 4099, 13, 8, -300},
                                   {2, 50257, 7, 3, 0},   {37, 259, 1, 30, 0}, {3, 259, 0, 30, 0}};

struct LogitCase {
  explicit LogitCase(const LogitShape& s)
      : shape(s), x(normal<float>("logits", s.M * (s.v + s.gap))), lse(s.M), weight(s.M), column(s.M) {
    for (std::int64_t i = 0; i < x.size(); ++i) x[i] = x[i] * s.spread + s.middle;
    for (std::int64_t i = 0; i < s.M; ++i) {
      column[i] = i % 4 == 3 ? (i % 8 == 3 ? -1 : s.v) : i * 7919 % s.v;
      weight[i] = i % 5 == 3 ? 0.0f : 0.25f + static_cast<float>(i % 3);
    }
  }
  LogitRows rows() const { return {shape.M, shape.v, shape.v + shape.gap}; }
  double logit(std::int64_t i, std::int64_t j) const { return value(x[i * (shape.v + shape.gap) + j]); }

  LogitShape shape;
  Guarded<float> x, lse, weight;
  Guarded<std::int64_t> column;
};

Operation log_sum_exp_of(LogitCase& c) {
  return [&c](const OnHost& run) {
    c.lse.clear();
    dispatch::log_sum_exp(run, c.rows(), c.x.data(), c.lse.data());
    return bits_of(c.lse);
  };
}

// In `x`, which is a copy of c.x first.
Operation gradient_of(LogitCase& c, Guarded<float>& x) {
  return [&c, &x](const OnHost& run) {
    x = c.x;
    dispatch::cross_entropy_gradient(run, c.rows(), x.data(), c.lse.data(), c.column.data(), c.weight.data());
    return bits_of(x);
  };
}

// Of the sum's logarithm: sums of at most 50257 exponentials in fp32, 2048 at a time, and the result's last place.
void expect_lse_parity(LogitCase& c) {
  log_sum_exp_of(c)(OnHost(1));
  for (std::int64_t i = 0; i < c.shape.M; ++i) {
    double most = c.logit(i, 0), sum = 0;
    for (std::int64_t j = 0; j < c.shape.v; ++j) most = std::max(most, c.logit(i, j));
    for (std::int64_t j = 0; j < c.shape.v; ++j) sum += std::exp(c.logit(i, j) - most);
    const double want = most + std::log(sum);
    EXPECT_NEAR(value(c.lse[i]), want, 2e-6 + 1e-7 * std::abs(want)) << c.shape.v;
  }
  EXPECT_TRUE(c.lse.guards_are_whole());
}

// With the same fp32 log-sum-exp: its rounding is not this operation's. The difference is rounded to fp32 once.
void expect_gradient_parity(LogitCase& c) {
  Guarded<float> x = c.x;
  gradient_of(c, x)(OnHost(1));
  const std::int64_t stride = c.shape.v + c.shape.gap;
  std::vector<double> want;
  for (std::int64_t i = 0; i < c.shape.M; ++i) {
    for (std::int64_t j = 0; j < stride; ++j) {
      const float difference = c.x[i * stride + j] - c.lse[i];
      const double gradient = value(c.weight[i]) * (std::exp(value(difference)) - (c.column[i] == j ? 1 : 0));
      want.push_back(j < c.shape.v ? gradient : c.logit(i, j));
    }
    for (std::int64_t j = c.shape.v; j < stride; ++j)
      ASSERT_EQ(x[i * stride + j], c.x[i * stride + j]) << "between the rows";
    for (std::int64_t j = c.shape.v; j < stride; ++j)
      want[static_cast<std::size_t>(i * stride + j)] = x[i * stride + j] = 0;
  }
  expect_close(x, want, "gradient");
}

TEST(CudaCrossEntropyParity, AgreesWithDouble) {
  for (const LogitShape& shape : logit_shapes) {
    LogitCase c(shape);
    expect_lse_parity(c);
    expect_gradient_parity(c);
  }
}

TEST(CudaLogSumExp, OfMinusInfinitiesIsMinusInfinity) {
  for (const std::int64_t v : {1, 16, 5000}) {
    LogitCase c({2, v, 0, 1, 0});
    for (std::int64_t j = 0; j < v; ++j) c.x[j] = -infinity;
    log_sum_exp_of(c)(OnHost(1));
    EXPECT_EQ(c.lse[0], -infinity);
    EXPECT_TRUE(std::isfinite(c.lse[1]));
  }
}

TEST(CudaLogSumExp, OfOneValueAmongMinusInfinitiesIsTheValue) {
  for (const std::int64_t place : {0, 2047, 2048, 4999}) {
    LogitCase c({1, 5000, 0, 1, 0});
    for (std::int64_t j = 0; j < 5000; ++j) c.x[j] = j == place ? -3.25f : -infinity;
    log_sum_exp_of(c)(OnHost(1));
    EXPECT_EQ(c.lse[0], -3.25f) << place;
  }
}

TEST(CudaLogSumExp, IsNotFiniteWhereALogitIsNot) {
  for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 100, 4998}) {
      LogitCase c({1, 4999, 0, 1, 0});
      c.x[place] = bad;
      log_sum_exp_of(c)(OnHost(1));
      EXPECT_FALSE(std::isfinite(c.lse[0])) << bad << " at " << place;
    }
  }
}

TEST(CudaCrossEntropy, OrdersAndPlantedFaults) {
  for (const LogitShape& shape : {LogitShape{3, 2061, 3, 2, 0}, LogitShape{2, 259, 0, 2, 0}}) {
    LogitCase c(shape);
    Guarded<float> x = c.x;
    log_sum_exp_of(c)(OnHost(1));
    for (const Operation& operation : {gradient_of(c, x), log_sum_exp_of(c)}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
}

}  // namespace
}  // namespace troika::cuda
