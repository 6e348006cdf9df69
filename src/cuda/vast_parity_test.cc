// Kernels over more than 2^31 elements have in the first, in a middle and in the last row (or element) the bits that they have where
// these are all there is. The host runs the blocks of those alone.
#include "cuda/activation_dispatch.h"
#include "cuda/attention_dispatch.h"
#include "cuda/bias_dispatch.h"
#include "cuda/cross_entropy_dispatch.h"
#include "cuda/dropout_dispatch.h"
#include "cuda/elements_dispatch.h"
#include "cuda/embedding_dispatch.h"
#include "cuda/flat_dispatch.h"
#include "cuda/grid_dispatch.h"
#include "cuda/norm_dispatch.h"
#include "cuda/rope_dispatch.h"
#include "cuda/vast_test_support.h"

namespace troika::cuda {
namespace {

constexpr std::int64_t beyond = std::int64_t{1} << 31;
constexpr std::int64_t gigabyte = 1000000000;

// M rows, three of which a test looks at: the first, one behind 2^31 elements of D a row, the last.
struct ThreeRows {
  ThreeRows(std::int64_t rows, std::int64_t D) : M(rows), at{0, beyond / D + 1, rows - 1} {}
  std::int64_t M, at[3];

  // The blocks that have these rows, where rows share blocks or blocks share a row in order. The last block may have less than the
  // others, so a row may lie one before; few blocks have exact shares.
  TestRun run() const {
    return TestRun([*this](std::int64_t blocks) {
      const std::int64_t before = blocks > 1056 ? 1 : 0;
      std::set<std::int64_t> chosen;
      for (const std::int64_t row : at) {
        for (std::int64_t block = row * blocks / M - before; block <= ((row + 1) * blocks - 1) / M; ++block)
          if (block >= 0 && block < blocks) chosen.insert(block);
      }
      return std::vector<std::int64_t>(chosen.begin(), chosen.end());
    });
  }
  template <class T>
  void give(Vast<T>& x, const Guarded<T>& rows) const {
    const std::int64_t width = rows.size() / 3;
    for (int i = 0; i < 3; ++i)
      for (std::int64_t d = 0; d < width; ++d) x[at[i] * (x.size() / M) + d] = rows[i * width + d];
  }
  template <class T>
  void expect(Vast<T>& x, const Guarded<T>& want, const char* name) const {
    const std::int64_t width = want.size() / 3;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(std::memcmp(&x[at[i] * (x.size() / M)], &want[i * width], static_cast<std::size_t>(width) * sizeof(T)), 0)
          << name << ", row " << at[i];
  }
};

// Rows of a vast buffer and the same in a small one. What is computed is poison at first.
template <class T>
struct Both {
  Both(const ThreeRows& of, std::int64_t width) : rows(of), vast(of.M * width), small(3 * width) { rows.give(vast, small); }
  Both(const ThreeRows& of, std::int64_t width, const char* name) : rows(of), vast(of.M * width), small(normal<T>(name, 3 * width)) {
    rows.give(vast, small);
  }
  void expect_equal(const char* name) {
    rows.expect(vast, small, name);
    EXPECT_TRUE(small.guards_are_whole()) << name;
  }
  const ThreeRows rows;
  Vast<T> vast;
  Guarded<T> small;
};

TEST(CudaVastParity, Activations) {
  TROIKA_NEEDS_BYTES(33 * gigabyte);
  constexpr std::int64_t M = 160000, F = 16384;
  const ThreeRows rows(M, F);
  const ActivationRows all{Dtype::bf16, M, F}, three{Dtype::bf16, 3, F};
  Both<Bf16> gate_up(rows, 2 * F, "gate_up"), h(rows, F), dh(rows, F, "dh"), dgate_up(rows, 2 * F);
  dispatch::swiglu_forward(rows.run(), all, gate_up.vast.data(), h.vast.data());
  dispatch::swiglu_forward(TestRun(1), three, gate_up.small.data(), h.small.data());
  h.expect_equal("SwiGLU");
  dispatch::swiglu_backward(rows.run(), all, dh.vast.data(), gate_up.vast.data(), dgate_up.vast.data(), 2 * F);
  dispatch::swiglu_backward(TestRun(1), three, dh.small.data(), gate_up.small.data(), dgate_up.small.data(), 2 * F);
  dgate_up.expect_equal("SwiGLU backward");
  dispatch::gelu_forward(rows.run(), all, dh.vast.data(), h.vast.data());
  dispatch::gelu_forward(TestRun(1), three, dh.small.data(), h.small.data());
  h.expect_equal("GELU");
  dispatch::gelu_backward(rows.run(), all, dh.vast.data(), h.vast.data(), h.vast.data(), F);
  dispatch::gelu_backward(TestRun(1), three, dh.small.data(), h.small.data(), h.small.data(), F);
  h.expect_equal("GELU backward");
}

TEST(CudaVastParity, Norms) {
  TROIKA_NEEDS_BYTES(33 * gigabyte);
  constexpr std::int64_t M = 160000, D = 16384;
  const ThreeRows rows(M, D);
  const NormRows all{Dtype::bf16, M, D}, three{Dtype::bf16, 3, D};
  const Guarded<Bf16> w = normal<Bf16>("w", D), bias = normal<Bf16>("bias", D);
  Both<Bf16> x(rows, D, "x"), delta(rows, D, "delta"), sum(rows, D), y(rows, D), dx(rows, D);
  Both<float> mean(rows, 1), rstd(rows, 1);
  dispatch::layer_norm_forward(rows.run(), all, {x.vast.data(), delta.vast.data(), sum.vast.data()}, w.data(), bias.data(), 0.01,
                               y.vast.data(), mean.vast.data(), rstd.vast.data());
  dispatch::layer_norm_forward(TestRun(1), three, {x.small.data(), delta.small.data(), sum.small.data()}, w.data(), bias.data(), 0.01,
                               y.small.data(), mean.small.data(), rstd.small.data());
  sum.expect_equal("sum");
  y.expect_equal("LayerNorm");
  Guarded<float> dw(D), dbias(D), workspace(dispatch::layer_norm_backward_floats(all)), room(dispatch::layer_norm_backward_floats(three));
  dispatch::layer_norm_backward(rows.run(), all, y.vast.data(), sum.vast.data(), w.data(), mean.vast.data(), rstd.vast.data(),
                                delta.vast.data(), dx.vast.data(), dw.data(), dbias.data(), workspace.data());
  dispatch::layer_norm_backward(TestRun(1), three, y.small.data(), sum.small.data(), w.data(), mean.small.data(), rstd.small.data(),
                                delta.small.data(), dx.small.data(), dw.data(), dbias.data(), room.data());
  dx.expect_equal("LayerNorm backward");
  dispatch::rms_norm_forward(rows.run(), all, {x.vast.data(), nullptr, nullptr}, w.data(), 0.01, y.vast.data(), rstd.vast.data());
  dispatch::rms_norm_forward(TestRun(1), three, {x.small.data(), nullptr, nullptr}, w.data(), 0.01, y.small.data(), rstd.small.data());
  y.expect_equal("RMSNorm");
  dispatch::rms_norm_backward(rows.run(), all, y.vast.data(), x.vast.data(), w.data(), rstd.vast.data(), delta.vast.data(),
                              dx.vast.data(), dw.data(), workspace.data());
  dispatch::rms_norm_backward(TestRun(1), three, y.small.data(), x.small.data(), w.data(), rstd.small.data(), delta.small.data(),
                              dx.small.data(), dw.data(), room.data());
  dx.expect_equal("RMSNorm backward");
}

// Sequences of one position, so that a row is a batch.
TEST(CudaVastParity, RotaryPositions) {
  TROIKA_NEEDS_BYTES(17 * gigabyte);
  constexpr std::int64_t B = 1000000, n = 20, H = 128, D = n * H;
  const ThreeRows rows(B, D);
  Both<Bf16> x(rows, D, "x"), y(rows, D), dx(rows, D);
  Both<float> rstd(rows, n);
  Both<std::int64_t> row(rows, 1);
  for (int i = 0; i < 3; ++i) row.small[i] = 2 - i;
  rows.give(row.vast, row.small);
  const Guarded<float> cos = normal<float>("cos", 3 * H / 2), sin = normal<float>("sin", 3 * H / 2);
  const Guarded<Bf16> w = normal<Bf16>("w", H);
  Guarded<float> dw(H);
  const auto heads = [&](auto& buffer) { return Heads{buffer.data(), D, D, H}; };
  const auto mutable_heads = [&](auto& buffer) { return MutableHeads{buffer.data(), D, D, H}; };
  const auto all = [&](const TestRun& run, std::int64_t batch, const std::int64_t* of, Guarded<Bf16>* small) {
    const RopeRows table{cos.data(), sin.data(), of};
    const QkNormRope op{Dtype::bf16, batch, 1, n, H, w.data(), table};
    Guarded<float> workspace(dispatch::qk_norm_rope_backward_floats(op));
    const bool is_small = small != nullptr;
    const Heads from = is_small ? heads(x.small) : heads(x.vast);
    float* const statistics = is_small ? rstd.small.data() : rstd.vast.data();
    dispatch::qk_norm_rope_forward(run, op, 0.01, from, is_small ? mutable_heads(y.small) : mutable_heads(y.vast), statistics);
    dispatch::qk_norm_rope_backward(run, op, is_small ? heads(y.small) : heads(y.vast), from, statistics,
                                    is_small ? mutable_heads(dx.small) : mutable_heads(dx.vast), dw.data(), workspace.data());
    dispatch::rope(run, {Dtype::bf16, batch, 1, n, H, table}, Turn::back, from, is_small ? mutable_heads(y.small) : mutable_heads(y.vast));
  };
  all(rows.run(), B, row.vast.data(), nullptr);
  all(TestRun(1), 3, row.small.data(), &y.small);
  dx.expect_equal("norms and rotary positions, backward");
  rstd.expect_equal("statistics");
  y.expect_equal("rotary positions, back");
}

// Logits of 16384 rows of Qwen3's vocabulary.
TEST(CudaVastParity, Logits) {
  TROIKA_NEEDS_BYTES(17 * gigabyte);
  constexpr std::int64_t M = 16384, v = 151936;
  const ThreeRows rows(M, v);
  const LogitRows all{M, v, v}, three{3, v, v};
  Both<float> x(rows, v, "logits"), lse(rows, 1), weight(rows, 1, "weight"), logit(rows, 1);
  Both<Bf16> kept(rows, v);
  Both<std::int64_t> column(rows, 1);
  for (int i = 0; i < 3; ++i) column.small[i] = v - 1 - i;
  rows.give(column.vast, column.small);
  const RowTargets of_all{lse.vast.data(), column.vast.data(), weight.vast.data()};
  const RowTargets of_three{lse.small.data(), column.small.data(), weight.small.data()};
  dispatch::log_sum_exp(rows.run(), all, x.vast.data(), lse.vast.data(), Dtype::bf16, kept.vast.data());
  dispatch::log_sum_exp(TestRun(1), three, x.small.data(), lse.small.data(), Dtype::bf16, kept.small.data());
  lse.expect_equal("log-sum-exp");
  kept.expect_equal("kept logits");
  dispatch::logits_of_columns(rows.run(), all, x.vast.data(), column.vast.data(), logit.vast.data());
  dispatch::logits_of_columns(TestRun(1), three, x.small.data(), column.small.data(), logit.small.data());
  logit.expect_equal("logits of the targets");
  dispatch::cross_entropy_gradient(rows.run(), all, Dtype::bf16, kept.vast.data(), of_all, Dtype::bf16);
  dispatch::cross_entropy_gradient(TestRun(1), three, Dtype::bf16, kept.small.data(), of_three, Dtype::bf16);
  kept.expect_equal("gradient of halves");
  dispatch::cross_entropy_gradient(rows.run(), all, Dtype::fp32, x.vast.data(), of_all, Dtype::fp32);
  dispatch::cross_entropy_gradient(TestRun(1), three, Dtype::fp32, x.small.data(), of_three, Dtype::fp32);
  x.expect_equal("gradient");
  dispatch::cross_entropy_gradient(rows.run(), all, Dtype::fp32, x.vast.data(), of_all, Dtype::bf16);
  dispatch::cross_entropy_gradient(TestRun(1), three, Dtype::fp32, x.small.data(), of_three, Dtype::bf16);
  x.expect_equal("gradient of halves in place of fp32");
}

// Heads of one query each, so that the rows of the small case have the same keys.
TEST(CudaVastParity, Scores) {
  TROIKA_NEEDS_BYTES(22 * gigabyte);
  constexpr std::int64_t heads = 80000, S = 32768;
  const ThreeRows rows(heads, S);
  const auto of = [&](std::int64_t count) { return ScoreRows{count, 1, S, S, 1, S - 5, nullptr, 0, 0.5f}; };
  Both<float> scores(rows, S, "scores"), gradients(rows, S, "gradients"), lse(rows, 1), dots(rows, 1, "dots");
  dispatch::softmax_gradient(rows.run(), of(heads), scores.vast.data(), gradients.vast.data(), Dtype::fp32, dots.vast.data(), dots.vast.data());
  dispatch::softmax_gradient(TestRun(1), of(3), scores.small.data(), gradients.small.data(), Dtype::fp32, dots.small.data(), dots.small.data());
  gradients.expect_equal("gradients of scores");
  dispatch::softmax(rows.run(), of(heads), scores.vast.data(), Dtype::bf16, lse.vast.data());
  dispatch::softmax(TestRun(1), of(3), scores.small.data(), Dtype::bf16, lse.small.data());
  scores.expect_equal("weights");
  lse.expect_equal("log-sum-exp");
}

TEST(CudaVastParity, OutputsOfAttention) {
  TROIKA_NEEDS_BYTES(33 * gigabyte);
  constexpr std::int64_t B = 1000000, n = 20, H = 128;
  const ThreeRows rows(B, n * H);
  const HeadRows all{B, 1, n, H}, three{3, 1, n, H};
  Both<float> a(rows, n * H, "a"), b(rows, n * H, "b"), sum(rows, n * H), lse_a(rows, n, "lse a"), lse_b(rows, n, "lse b"), lse(rows, n), dots(rows, n);
  dispatch::log_add_exp(rows.run(), B * n, lse_a.vast.data(), lse_b.vast.data(), lse.vast.data());
  dispatch::log_add_exp(TestRun(1), 3 * n, lse_a.small.data(), lse_b.small.data(), lse.small.data());
  lse.expect_equal("log-sum-exp");
  dispatch::sum_of_shares(rows.run(), all, {a.vast.data(), lse_a.vast.data()}, {b.vast.data(), lse_b.vast.data()}, lse.vast.data(), sum.vast.data());
  dispatch::sum_of_shares(TestRun(1), three, {a.small.data(), lse_a.small.data()}, {b.small.data(), lse_b.small.data()}, lse.small.data(), sum.small.data());
  sum.expect_equal("sums of shares");
  dispatch::head_dots(rows.run(), all, Dtype::fp32, a.vast.data(), b.vast.data(), dots.vast.data());
  dispatch::head_dots(TestRun(1), three, Dtype::fp32, a.small.data(), b.small.data(), dots.small.data());
  dots.expect_equal("dots of heads");
  a.small[3 * n * H - 1] = -std::numeric_limits<float>::infinity();
  rows.give(a.vast, a.small);
  dispatch::replace_infinity(rows.run(), B * n * H, a.vast.data(), 5);
  EXPECT_EQ(a.vast[B * n * H - 1], 5);
}

TEST(CudaVastParity, Dropout) {
  TROIKA_NEEDS_BYTES(12 * gigabyte);
  constexpr std::int64_t M = 1000000, I = 2560;
  const ThreeRows rows(M, I);
  Both<Bf16> x(rows, I, "x"), y(rows, I);
  const auto of = [&](std::int64_t first, std::int64_t count) { return DropoutRows{Dtype::bf16, 1, count, I, 0, first, count, 0}; };
  const DropoutDraw draw{{17, 5}, 3, 12, 20000, 1.25f};
  dispatch::dropout(rows.run(), of(0, M), draw, x.vast.data(), y.vast.data());
  for (int i = 0; i < 3; ++i) dispatch::dropout(TestRun(1), of(rows.at[i], 1), draw, &x.small[i * I], &y.small[i * I]);
  y.expect_equal("dropout");
}

TEST(CudaVastParity, EmbeddingAndItsGradient) {
  TROIKA_NEEDS_BYTES(23 * gigabyte);
  constexpr std::int64_t v = 320000, D = 8192;
  const ThreeRows rows(v, D);  // of the table, and as many tokens: each names its own row
  const EmbeddingTable all{Dtype::bf16, 0, v, D}, three{Dtype::bf16, 0, 3, D};
  Guarded<std::int64_t> ids(v), begins(v + 1), few_begins(4);
  for (std::int64_t i = 0; i < v; ++i) ids[i] = i;
  Both<Bf16> table(rows, D, "table"), x(rows, D);
  dispatch::embedding_forward(rows.run(), all, v, ids.data(), table.vast.data(), x.vast.data());
  dispatch::embedding_forward(TestRun(1), three, 3, ids.data(), table.small.data(), x.small.data());
  x.expect_equal("embedding");
  Both<float> dtable(rows, D);
  dispatch::embedding_backward_weight(rows.run(), all, v, {ids.data(), ids.data()}, x.vast.data(), dtable.vast.data(), begins.data());
  dispatch::embedding_backward_weight(TestRun(1), three, 3, {ids.data(), ids.data()}, x.small.data(), dtable.small.data(), few_begins.data());
  dtable.expect_equal("gradient of the table");
}

// Flat arrays as rows of 16 elements, so that the three are whole chunks of 16.
constexpr std::int64_t flat_rows = 156250000, flat_count = 16 * flat_rows;

TEST(CudaVastParity, FlatArrays) {
  TROIKA_NEEDS_BYTES(48 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  AdamWNumbers numbers;
  numbers.lr = 3e-4f;
  numbers.beta1 = numbers.beta2 = 0.9f;
  numbers.one_minus_beta1 = numbers.one_minus_beta2 = 0.1f;
  numbers.eps = 1e-8f;
  numbers.m_correction = numbers.v_correction = 3.5f;
  numbers.gradient_scale = 0.5f;
  Both<float> p(rows, 16, "p"), g(rows, 16, "g"), m(rows, 16, "m"), v(rows, 16, "v");
  for (std::int64_t i = 0; i < 48; ++i) v.small[i] *= v.small[i];
  rows.give(v.vast, v.small);
  Both<Bf16> rounded(rows, 16);
  dispatch::adamw(rows.run(), numbers, {{flat_count, 0.9f}}, {p.vast.data(), g.vast.data(), m.vast.data(), v.vast.data()}, Dtype::bf16, rounded.vast.data());
  dispatch::adamw(TestRun(1), numbers, {{48, 0.9f}}, {p.small.data(), g.small.data(), m.small.data(), v.small.data()}, Dtype::bf16, rounded.small.data());
  p.expect_equal("AdamW");
  rounded.expect_equal("AdamW, rounded");
  dispatch::add_into(rows.run(), flat_count, m.vast.data(), g.vast.data());
  dispatch::add_into(TestRun(1), 48, m.small.data(), g.small.data());
  m.expect_equal("sums");
  dispatch::round_into(rows.run(), flat_count, m.vast.data(), Dtype::bf16, rounded.vast.data());
  dispatch::round_into(TestRun(1), 48, m.small.data(), Dtype::bf16, rounded.small.data());
  rounded.expect_equal("rounding");
  Both<double> squares(rows, 1);
  dispatch::chunk_squares(rows.run(), {{flat_count}}, m.vast.data(), 16, squares.vast.data());
  dispatch::chunk_squares(TestRun(1), {{48}}, m.small.data(), 16, squares.small.data());
  squares.expect_equal("squares");
}

// Its blocks go through the whole array in strides: the host runs those that meet the three rows.
TEST(CudaVastParity, SumsOfBits) {
  TROIKA_NEEDS_BYTES(6 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  Both<std::uint16_t> words(rows, 16);
  Guarded<std::int64_t> sum(1), want(1);
  sum[0] = want[0] = 7;
  const TestRun run([&](std::int64_t blocks) {
    std::set<std::int64_t> chosen;
    for (const std::int64_t row : rows.at) chosen.insert(row * 16 / 256 % blocks);
    return std::vector<std::int64_t>(chosen.begin(), chosen.end());
  });
  dispatch::bits_sum(run, flat_count, 2, words.vast.data(), sum.data());
  dispatch::bits_sum(TestRun(1), 48, 2, words.small.data(), want.data());
  EXPECT_EQ(sum[0], want[0]);
}

TEST(CudaVastParity, IntegersOnAGrid) {
  TROIKA_NEEDS_BYTES(32 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  Both<float> x(rows, 16, "x");
  Both<std::int64_t> sum(rows, 16);
  Guarded<std::uint32_t> largest(2);
  largest[0] = largest[1] = 0;
  dispatch::set_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data(), &largest[0]);
  dispatch::set_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data(), &largest[1]);
  sum.expect_equal("integers");
  EXPECT_EQ(largest[0], largest[1]);
  dispatch::add_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data(), &largest[0]);
  dispatch::add_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data(), &largest[1]);
  sum.expect_equal("sums of integers");
  dispatch::round_to_grid(rows.run(), {{flat_count, 3}}, x.vast.data(), &largest[0]);
  dispatch::round_to_grid(TestRun(1), {{48, 3}}, x.small.data(), &largest[1]);
  x.expect_equal("rounding to the grid");
  dispatch::from_integers(rows.run(), {{flat_count, 20}}, sum.vast.data(), x.vast.data());
  dispatch::from_integers(TestRun(1), {{48, 20}}, sum.small.data(), x.small.data());
  x.expect_equal("from integers");
  Guarded<std::int64_t> row(3);
  for (int i = 0; i < 3; ++i) row[i] = rows.at[i];
  Guarded<std::int64_t> first(3);
  for (int i = 0; i < 3; ++i) first[i] = i;
  dispatch::add_rows_on_grid(TestRun(1), {0, flat_count, 3, 16, row.data()}, sum.vast.data(), x.small.data(), 20, &largest[0]);
  dispatch::add_rows_on_grid(TestRun(1), {0, 48, 3, 16, first.data()}, sum.small.data(), x.small.data(), 20, &largest[1]);
  sum.expect_equal("rows on the grid");
  Both<double> squares(rows, 1);
  dispatch::integer_chunk_squares(rows.run(), {{flat_count, 20}}, sum.vast.data(), 16, squares.vast.data());
  dispatch::integer_chunk_squares(TestRun(1), {{48, 20}}, sum.small.data(), 16, squares.small.data());
  squares.expect_equal("squares of integers");
}

// A matrix as its transpose is walked, so that both strides matter.
TEST(CudaVastParity, CopiesAndSumsOfElements) {
  TROIKA_NEEDS_BYTES(17 * gigabyte);
  const ThreeRows rows(flat_rows, 16);
  const WalkShape all{2, {flat_rows, 16}, {16, 1}, {16, 1}}, three{2, {3, 16}, {16, 1}, {16, 1}};
  Both<float> a(rows, 16);
  Both<Bf16> b(rows, 16, "b");
  dispatch::copy_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()});
  dispatch::copy_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, {Dtype::bf16, b.small.data()});
  a.expect_equal("a conversion");
  dispatch::add_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()}, 3);
  dispatch::add_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, {Dtype::bf16, b.small.data()}, 3);
  dispatch::multiply_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, 0.5);
  dispatch::multiply_elements(TestRun(1), three, {Dtype::fp32, a.small.data()}, 0.5);
  a.expect_equal("a sum and a product");
  const WalkShape columns{2, {16, flat_rows}, {1, 16}, {flat_rows, 1}};  // row 15 of b's transpose is the last in memory
  b.vast[flat_count - 1] = rounded<Bf16>(1.5f);
  a.vast[flat_count - 1] = 0;
  dispatch::copy_elements(TestRun([](std::int64_t blocks) { return std::vector<std::int64_t>{blocks - 1}; }), columns,
                          {Dtype::fp32, a.vast.data()}, {Dtype::bf16, b.vast.data()});
  EXPECT_EQ(a.vast[flat_count - 1], 1.5f);
  dispatch::fill_elements(rows.run(), all, {Dtype::fp32, a.vast.data()}, 2.5);
  for (const std::int64_t row : rows.at) EXPECT_EQ(a.vast[row * 16 + 15], 2.5f) << row;
}

TEST(CudaVastParity, RowsByIndex) {
  TROIKA_NEEDS_BYTES(23 * gigabyte);
  const ThreeRows rows(160000, 16384);
  constexpr std::int64_t D = 16384;
  Guarded<std::int64_t> index(3);
  for (int i = 0; i < 3; ++i) index[i] = rows.at[i];
  Both<float> table(rows, D, "table");
  Guarded<float> got(3 * D);
  const dispatch::RowIndex of{index.data(), 3, rows.M, D};
  dispatch::gather_rows(TestRun(1), of, {Dtype::fp32, got.data()}, {Dtype::fp32, table.vast.data()});
  EXPECT_TRUE(got.bits() == table.small.bits());
  for (std::int64_t i = 0; i < 3 * D; ++i) got[i] *= 2, table.small[i] *= 3;
  dispatch::add_rows(TestRun(1), of, {Dtype::fp32, table.vast.data()}, {Dtype::fp32, got.data()});
  table.expect_equal("sums of rows");
  dispatch::scatter_rows(TestRun(1), of, {Dtype::fp32, table.vast.data()}, {Dtype::fp32, got.data()});
  rows.expect(table.vast, got, "rows that are set");
  Both<float> to(rows, D);  // as many rows as the table has
  Guarded<std::int64_t> each(rows.M);
  for (std::int64_t i = 0; i < rows.M; ++i) each[i] = i;
  dispatch::gather_rows(rows.run(), {each.data(), rows.M, rows.M, D}, {Dtype::fp32, to.vast.data()}, {Dtype::fp32, table.vast.data()});
  rows.expect(to.vast, got, "rows that are read");
}

TEST(CudaVastParity, GradientOfABias) {
  TROIKA_NEEDS_BYTES(6 * gigabyte);
  constexpr std::int64_t M = 80000000, O = 32;
  const ThreeRows rows(M, O);
  Both<Bf16> dy(rows, O, "dy");
  const BiasRows all{Dtype::bf16, M, O};
  Guarded<float> dbias(O), workspace(dispatch::linear_backward_bias_floats(all));
  for (std::int64_t i = 0; i < workspace.size(); ++i) workspace[i] = 0;
  dispatch::linear_backward_bias(rows.run(), all, dy.vast.data(), dbias.data(), workspace.data());
  for (std::int64_t o = 0; o < O; ++o)
    EXPECT_EQ(dbias[o], to_float(dy.small[o]) + to_float(dy.small[O + o]) + to_float(dy.small[2 * O + o])) << o;
}

}  // namespace
}  // namespace troika::cuda
