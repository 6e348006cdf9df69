#include <limits>

#include "cuda/vocabulary_dispatch.h"
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
  RowTargets targets() const { return {lse.data(), column.data(), weight.data()}; }
  double logit(std::int64_t i, std::int64_t j) const { return value(x[i * (shape.v + shape.gap) + j]); }

  LogitShape shape;
  Guarded<float> x, lse, weight;
  Guarded<std::int64_t> column;
};

Operation log_sum_exp_of(LogitCase& c) {
  return [&c](const TestRun& run) {
    c.lse.clear();
    dispatch::log_sum_exp(run, c.rows(), c.x.data(), c.lse.data(), Dtype::fp32, nullptr);
    return bits_of(c.lse);
  };
}

// In `x`, which is a copy of c.x first.
Operation gradient_of(LogitCase& c, Guarded<float>& x) {
  return [&c, &x](const TestRun& run) {
    x = c.x;
    dispatch::cross_entropy_gradient(run, c.rows(), Dtype::fp32, x.data(), c.targets(), Dtype::fp32);
    return bits_of(x);
  };
}

// The tolerance of the sum's logarithm: sums of at most 50257 exponentials in fp32, 2048 at a time, and the result's
// last place.
void expect_lse_parity(LogitCase& c) {
  log_sum_exp_of(c)(TestRun(1));
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
  gradient_of(c, x)(TestRun(1));
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

// Where each row of fp32 had its logits; the rest of a row is what it was, or of no account.
template <class T>
T& half_of(Guarded<float>& x, std::int64_t stride, std::int64_t i, std::int64_t j) {
  return reinterpret_cast<T*>(x.data() + i * stride)[j];
}

template <class T>
Operation narrowed_gradient_of(LogitCase& c, Guarded<float>& x, Guarded<T>& d) {
  return [&c, &x, &d](const TestRun& run) {
    x = c.x;
    d.clear();
    dispatch::cross_entropy_gradient(run, c.rows(), Dtype::fp32, x.data(), c.targets(), dtype_of<T>());
    for (std::int64_t i = 0; i < c.shape.M; ++i) {
      for (std::int64_t j = 0; j < c.shape.v; ++j) d[i * c.shape.v + j] = half_of<T>(x, c.rows().stride, i, j);
    }
    return bits_of(d);
  };
}

template <class T>
Operation gradient_in_place_of(LogitCase& c, const Guarded<T>& logits, Guarded<T>& x) {
  return [&c, &logits, &x](const TestRun& run) {
    x = logits;
    dispatch::cross_entropy_gradient(run, c.rows(), dtype_of<T>(), x.data(), c.targets(), dtype_of<T>());
    return bits_of(x);
  };
}

template <class T>
Operation keeping_of(LogitCase& c, Guarded<T>& kept) {
  return [&c, &kept](const TestRun& run) {
    c.lse.clear();
    kept.clear();
    dispatch::log_sum_exp(run, c.rows(), c.x.data(), c.lse.data(), dtype_of<T>(), kept.data());
    return bits_of(c.lse, kept);
  };
}

// Halves have the bits of what fp32 gives, rounded.
template <class T>
void expect_halves_of_fp32(LogitCase& c) {
  const std::int64_t stride = c.rows().stride, v = c.shape.v;
  Guarded<T> kept(c.shape.M * v), narrowed(c.shape.M * v), logits(c.x.size()), in_place = logits;
  keeping_of(c, kept)(TestRun(2));
  Guarded<float> whole = c.x, row_by_row = c.x;
  gradient_of(c, whole)(TestRun(1));
  narrowed_gradient_of(c, row_by_row, narrowed)(TestRun(3));
  LogitCase of_halves = c;
  for (std::int64_t i = 0; i < c.x.size(); ++i) of_halves.x[i] = to_float(logits[i] = rounded<T>(c.x[i]));
  Guarded<float> exact = of_halves.x;
  gradient_of(of_halves, exact)(TestRun(1));
  gradient_in_place_of(of_halves, logits, in_place)(TestRun(4));
  for (std::int64_t i = 0; i < c.shape.M; ++i) {
    for (std::int64_t j = 0; j < v; ++j) {
      ASSERT_EQ(kept[i * v + j].bits, rounded<T>(c.x[i * stride + j] - c.lse[i]).bits) << i << ", " << j;
      ASSERT_EQ(narrowed[i * v + j].bits, rounded<T>(whole[i * stride + j]).bits) << i << ", " << j;
      ASSERT_EQ(in_place[i * stride + j].bits, rounded<T>(exact[i * stride + j]).bits) << i << ", " << j;
    }
    for (std::int64_t j = v; j < stride; ++j) {
      ASSERT_EQ(row_by_row[i * stride + j], c.x[i * stride + j]) << "between the rows";
      ASSERT_EQ(in_place[i * stride + j].bits, logits[i * stride + j].bits) << "between the rows";
    }
  }
  EXPECT_TRUE(kept.guards_are_whole() && row_by_row.guards_are_whole() && in_place.guards_are_whole());
}

TEST(CudaCrossEntropyParity, HalvesHaveTheBitsOfFp32Rounded) {
  for (const LogitShape& shape : logit_shapes) {
    LogitCase c(shape);
    expect_halves_of_fp32<Bf16>(c);
    expect_halves_of_fp32<Fp16>(c);
  }
}

struct LossRows {
  explicit LossRows(std::int64_t M) : lse(normal<float>("lse", M)), logit(normal<float>("logit", M)), target(M), sum(2) {
    for (std::int64_t i = 0; i < M; ++i) target[i] = i % 3 == 1 ? -100 : i;
  }
  Operation operation() {
    return [this](const TestRun& run) {
      sum.clear();
      dispatch::loss_sum(run, target.size(), lse.data(), logit.data(), target.data(), -100, sum.data());
      return bits_of(sum);
    };
  }
  Guarded<float> lse, logit;
  Guarded<std::int64_t> target;
  Guarded<double> sum;
};

TEST(CudaLossSum, AddsInTheOrderOfTheRows) {
  for (const std::int64_t M : {0, 1, 2, 511, 512, 513, 2000}) {
    LossRows rows(M);
    rows.operation()(TestRun(1));
    double loss = 0, count = 0;
    for (std::int64_t i = 0; i < M; ++i) {
      if (rows.target[i] == -100) continue;
      loss += static_cast<double>(rows.lse[i] - rows.logit[i]);
      count += 1;
    }
    EXPECT_EQ(rows.sum[0], loss) << M;
    EXPECT_EQ(rows.sum[1], count) << M;
    EXPECT_TRUE(rows.sum.guards_are_whole());
  }
}

struct TargetRows {
  TargetRows() : logits({37, 259, 3, 2, 0}), target(37), column(37), weight(37), logit(37) {
    for (std::int64_t i = 0; i < 37; ++i) target[i] = i % 4 == 3 ? -100 : i * 17;
  }
  Operation operation() {
    return [this](const TestRun& run) {
      column.clear();
      weight.clear();
      logit.clear();
      dispatch::columns_of_targets(run, 37, target.data(), 300, column.data());
      dispatch::weights_of_targets(run, 37, target.data(), -100, 0.25f, weight.data());
      dispatch::logits_of_columns(run, logits.rows(), logits.x.data(), column.data(), logit.data());
      return bits_of(column, weight, logit);
    };
  }
  LogitCase logits;
  Guarded<std::int64_t> target, column;
  Guarded<float> weight, logit;
};

TEST(CudaTargets, HaveColumnsWeightsAndLogits) {
  TargetRows rows;
  rows.operation()(TestRun(1));
  for (std::int64_t i = 0; i < 37; ++i) {
    const std::int64_t column = rows.target[i] - 300;
    EXPECT_EQ(rows.column[i], column);
    EXPECT_EQ(rows.weight[i], rows.target[i] == -100 ? 0.0f : 0.25f);
    EXPECT_EQ(rows.logit[i], column >= 0 && column < 259 ? static_cast<float>(rows.logits.logit(i, column)) : 0.0f);
  }
  EXPECT_TRUE(rows.column.guards_are_whole() && rows.weight.guards_are_whole() && rows.logit.guards_are_whole());
}

Operation sum_of(const Guarded<float>& a, const Guarded<float>& b, Guarded<float>& sum) {
  return [&a, &b, &sum](const TestRun& run) {
    sum.clear();
    dispatch::log_add_exp(run, a.size(), a.data(), b.data(), sum.data());
    return bits_of(sum);
  };
}

TEST(CudaLogAddExp, AgreesWithDoubleAndKeepsWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Guarded<float> a = normal<float>("a", 300), b = normal<float>("b", 300), sum(300);
  for (std::int64_t i = 0; i < 300; ++i) a[i] *= static_cast<float>(i % 90);
  a[0] = b[0] = b[1] = a[2] = -infinity;
  a[3] = b[4] = nan;
  a[5] = nan, b[5] = -infinity;
  sum_of(a, b, sum)(TestRun(1));
  EXPECT_EQ(sum[0], -infinity);
  EXPECT_EQ(sum[1], a[1]);
  EXPECT_EQ(sum[2], b[2]);
  for (const std::int64_t i : {3, 4, 5}) EXPECT_TRUE(std::isnan(sum[i])) << i;
  for (std::int64_t i = 6; i < 300; ++i) {
    const double larger = std::max(value(a[i]), value(b[i])), smaller = std::min(value(a[i]), value(b[i]));
    const double want = larger + std::log1p(std::exp(smaller - larger));
    EXPECT_NEAR(value(sum[i]), want, 1e-6 + 1e-7 * std::abs(want));
  }
  EXPECT_TRUE(sum.guards_are_whole());
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
    log_sum_exp_of(c)(TestRun(1));
    EXPECT_EQ(c.lse[0], -infinity);
    EXPECT_TRUE(std::isfinite(c.lse[1]));
  }
}

TEST(CudaLogSumExp, OfOneValueAmongMinusInfinitiesIsTheValue) {
  for (const std::int64_t place : {0, 2047, 2048, 4999}) {
    LogitCase c({1, 5000, 0, 1, 0});
    for (std::int64_t j = 0; j < 5000; ++j) c.x[j] = j == place ? -3.25f : -infinity;
    log_sum_exp_of(c)(TestRun(1));
    EXPECT_EQ(c.lse[0], -3.25f) << place;
  }
}

TEST(CudaLogSumExp, IsNotFiniteWhereALogitIsNot) {
  for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 100, 4998}) {
      LogitCase c({1, 4999, 0, 1, 0});
      c.x[place] = bad;
      log_sum_exp_of(c)(TestRun(1));
      EXPECT_FALSE(std::isfinite(c.lse[0])) << bad << " at " << place;
    }
  }
}

TEST(CudaCrossEntropy, OrdersAndPlantedFaults) {
  for (const LogitShape& shape : {LogitShape{3, 2061, 3, 2, 0}, LogitShape{2, 259, 0, 2, 0}}) {
    LogitCase c(shape);
    Guarded<float> x = c.x;
    log_sum_exp_of(c)(TestRun(1));
    Guarded<Bf16> kept(shape.M * shape.v);
    for (const Operation& operation : {gradient_of(c, x), log_sum_exp_of(c), keeping_of(c, kept)}) {
      expect_same_bits_in_any_order(operation);
      expect_faults_are_seen(operation);
    }
  }
  LogitCase c({2, 3500, 0, 2, 0});
  Guarded<float> x = c.x, sum(300);
  Guarded<Fp16> d(2 * 3500);
  LossRows rows(1030);
  TargetRows targets;
  const Guarded<float> a = normal<float>("a", 300), b = normal<float>("b", 300);
  log_sum_exp_of(c)(TestRun(1));
  for (const Operation& operation : {narrowed_gradient_of(c, x, d), rows.operation(), targets.operation(), sum_of(a, b, sum)}) {
    expect_same_bits_in_any_order(operation);
    expect_faults_are_seen(operation);
  }
}

}  // namespace
}  // namespace troika::cuda
