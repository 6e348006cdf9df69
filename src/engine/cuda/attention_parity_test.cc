#include <limits>

#include "cuda/attention_dispatch.h"
#include "cuda/vocabulary_dispatch.h"
#include "cuda/kernel_test_support.h"

namespace troika::cuda {
namespace {

struct ScoreShape {
  std::int64_t heads, T, S, gap, first_query, window = 0;
};
// Queries before, among and behind the keys; rows of less than a pack, of one block of packs and of several.
const ScoreShape score_shapes[] = {{1, 1, 1, 0, 0},   {2, 5, 7, 1, 2},    {3, 4, 6, 2, -2},
                                   {2, 3, 2100, 0, 2500}, {1, 3, 519, 1, 700}, {2, 4, 1064, 0, 1000},
                                   {2, 5, 70, 0, 40, 9},  {1, 3, 519, 1, 700, 300}, {2, 4, 1064, 0, 1000, 1}};

struct ScoreCase {
  explicit ScoreCase(const ScoreShape& s)
      : shape(s),
        scores(normal<float>("scores", s.heads * s.T * stride())),
        gradients(normal<float>("gradients", s.heads * s.T * stride())),
        lse(s.heads * statistics_stride()),
        dots(normal<float>("dots", s.heads * statistics_stride())) {}
  std::int64_t stride() const { return shape.S + shape.gap; }
  std::int64_t statistics_stride() const { return shape.T + 3; }
  std::int64_t rows() const { return shape.heads * shape.T; }
  std::int64_t statistic(std::int64_t row) const { return row / shape.T * statistics_stride() + row % shape.T; }
  bool sees(std::int64_t row, std::int64_t key) const {
    const std::int64_t position = shape.first_query + row % shape.T;
    return key <= position && (shape.window == 0 || key > position - shape.window);
  }
  double score(std::int64_t row, std::int64_t key) const { return 0.5 * value(scores[row * stride() + key]); }
  ScoreRows of_kernel() const {
    return {shape.heads, shape.T, shape.S, stride(), statistics_stride(), shape.first_query, shape.window, 0.5f};
  }

  ScoreShape shape;
  Guarded<float> scores, gradients, lse, dots;
};

// The first part of each row, as it was written.
template <class T>
void read_rows(const ScoreCase& c, const Guarded<float>& rows, Guarded<T>& dense) {
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    const T* const from = reinterpret_cast<const T*>(rows.data() + row * c.stride());
    for (std::int64_t i = 0; i < c.shape.S; ++i) dense[row * c.shape.S + i] = from[i];
  }
}

template <class T>
struct SoftmaxRun {
  explicit SoftmaxRun(ScoreCase& of) : c(of), room(of.scores), weights(of.rows() * of.shape.S), other(room), gradients(weights) {}
  Operation forward() {
    return [this](const TestRun& run) {
      room = c.scores;
      c.lse.clear();
      weights.clear();
      dispatch::softmax(run, c.of_kernel(), room.data(), dtype_of<T>(), c.lse.data());
      read_rows(c, room, weights);
      return bits_of(weights, c.lse);
    };
  }
  Operation backward() {
    return [this](const TestRun& run) {
      room = c.scores;
      other = c.gradients;
      weights.clear();
      gradients.clear();
      dispatch::softmax_gradient(run, c.of_kernel(), room.data(), other.data(), dtype_of<T>(), c.lse.data(), c.dots.data());
      read_rows(c, room, weights);
      read_rows(c, other, gradients);
      return bits_of(weights, gradients);
    };
  }
  ScoreCase& c;
  Guarded<float> room;
  Guarded<T> weights;
  Guarded<float> other;
  Guarded<T> gradients;
};

template <class T>
void expect_softmax_parity(ScoreCase& c) {
  SoftmaxRun<T> run(c);
  run.forward()(TestRun(1));
  std::vector<double> weights, gradients;
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < c.shape.S; ++i) sum += c.sees(row, i) ? std::exp(c.score(row, i)) : 0;
    const float lse = c.lse[c.statistic(row)];
    if (sum == 0) {
      EXPECT_EQ(lse, -std::numeric_limits<float>::infinity());
    } else {
      EXPECT_NEAR(value(lse), std::log(sum), 2e-6);
    }
    for (std::int64_t i = 0; i < c.shape.S; ++i) {
      const double weight = c.sees(row, i) ? std::exp(c.score(row, i)) / sum : 0;
      const double gradient = value(c.gradients[row * c.stride() + i]) - value(c.dots[c.statistic(row)]);
      weights.push_back(weight);
      gradients.push_back(weight == 0 ? 0 : 0.5 * weight * gradient);
    }
  }
  expect_close(run.weights, weights, "weights");
  EXPECT_TRUE(run.room.guards_are_whole() && c.lse.guards_are_whole());
  run.backward()(TestRun(2));
  expect_close(run.weights, weights, "weights again");
  expect_close(run.gradients, gradients, "gradients");
  EXPECT_TRUE(run.room.guards_are_whole() && run.other.guards_are_whole());
}

TEST(CudaAttentionParity, WeightsAndTheirGradientsAgreeWithDouble) {
  for (const ScoreShape& shape : score_shapes) {
    ScoreCase c(shape);
    expect_softmax_parity<float>(c);
    expect_softmax_parity<Bf16>(c);
    expect_softmax_parity<Fp16>(c);
  }
}

struct MergeCase {
  explicit MergeCase(std::int64_t H)
      : rows{2, 3, 5, H},
        a(normal<float>("a", 30 * H)),
        b(normal<float>("b", 30 * H)),
        sum(30 * H),
        lse_a(normal<float>("lse a", 30)),
        lse_b(normal<float>("lse b", 30)),
        lse(30) {
    lse_a[7] = lse_a[8] = lse_b[8] = -std::numeric_limits<float>::infinity();
    dispatch::log_add_exp(TestRun(1), 30, lse_a.data(), lse_b.data(), lse.data());
  }
  Operation operation() {
    return [this](const TestRun& run) {
      sum.clear();
      dispatch::sum_of_shares(run, rows, {a.data(), lse_a.data()}, {b.data(), lse_b.data()}, lse.data(), sum.data());
      return bits_of(sum);
    };
  }
  std::int64_t statistic(std::int64_t row) const { return (row / 15 * 5 + row % 5) * 3 + row / 5 % 3; }
  HeadRows rows;
  Guarded<float> a, b, sum, lse_a, lse_b, lse;
};

TEST(CudaAttentionParity, ASumOfSharesAgreesWithDouble) {
  MergeCase c(7);
  c.operation()(TestRun(1));
  std::vector<double> want;
  for (std::int64_t i = 0; i < c.sum.size(); ++i) {
    const std::int64_t of = c.statistic(i / 7);
    const double ea = std::exp(value(c.lse_a[of])), eb = std::exp(value(c.lse_b[of]));
    want.push_back(of == 8 ? value(c.a[i]) * 0 : (value(c.a[i]) * ea + value(c.b[i]) * eb) / (ea + eb));
  }
  expect_close(c.sum, want, "sum");
}

template <class T>
struct DotsCase {
  explicit DotsCase(std::int64_t H) : rows{2, 3, 5, H}, a(normal<T>("a", 30 * H)), b(normal<T>("b", 30 * H)), dots(30) {}
  Operation operation() {
    return [this](const TestRun& run) {
      dots.clear();
      dispatch::head_dots(run, rows, dtype_of<T>(), a.data(), b.data(), dots.data());
      return bits_of(dots);
    };
  }
  void expect_parity() {
    operation()(TestRun(1));
    std::vector<double> want(30);
    for (std::int64_t row = 0; row < 30; ++row) {
      for (std::int64_t i = row * rows.H; i < (row + 1) * rows.H; ++i)
        want[static_cast<std::size_t>((row / 15 * 5 + row % 5) * 3 + row / 5 % 3)] += value(a[i]) * value(b[i]);
    }
    expect_close(dots, want, "dots");
  }
  HeadRows rows;
  Guarded<T> a, b;
  Guarded<float> dots;
};

TEST(CudaAttentionParity, DotsOfHeadsAgreeWithDouble) {
  for (const std::int64_t H : {1, 31, 32, 80}) {
    DotsCase<float>(H).expect_parity();
    DotsCase<Bf16>(H).expect_parity();
    DotsCase<Fp16>(H).expect_parity();
  }
}

TEST(CudaAttention, OrdersAndPlantedFaults) {
  ScoreCase narrow({2, 3, 259, 0, 300}), wide({1, 2, 2100, 0, 2098});
  SoftmaxRun<float> in_fp32(narrow);
  SoftmaxRun<Bf16> in_halves(wide);
  for (const Operation& operation : {in_fp32.forward(), in_fp32.backward(), in_halves.forward(), in_halves.backward()}) {
    expect_same_bits_in_any_order(operation);
    expect_faults_are_seen(operation);
  }
  MergeCase merge(7);
  DotsCase<float> dots(40);
  for (const Operation& operation : {merge.operation(), dots.operation()}) {
    expect_same_bits_in_any_order(operation);
    expect_faults_are_seen(operation);
  }
}

}  // namespace
}  // namespace troika::cuda
