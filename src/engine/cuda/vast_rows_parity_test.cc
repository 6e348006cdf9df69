// Kernels over more than 2^31 elements have in the first, in a middle and in the last row (or element) the bits that they have
// where these are all there is. The host runs the blocks of those alone.
#include "cuda/activation_dispatch.h"
#include "cuda/attention_dispatch.h"
#include "cuda/vocabulary_dispatch.h"
#include "cuda/norm_dispatch.h"
#include "cuda/rope_dispatch.h"
#include "cuda/vast_test_support.h"

namespace troika::cuda {
namespace {

TEST(CudaVastParity, Activations) {
  TROIKA_NEEDS_BYTES(33 * gigabyte);
  constexpr std::int64_t M = 160000, F = 16384;
  const ThreeRows rows(M, F);
  const Rows all{Dtype::bf16, M, F}, three{Dtype::bf16, 3, F};
  Both<Bf16> gate_up(rows, 2 * F, "gate_up"), h(rows, F), dh(rows, F, "dh"), dgate_up(rows, 2 * F);
  dispatch::gated_forward(rows.run(), Gate::silu, all, gate_up.vast.data(), h.vast.data());
  dispatch::gated_forward(TestRun(1), Gate::silu, three, gate_up.small.data(), h.small.data());
  h.expect_equal("SwiGLU");
  dispatch::gated_backward(rows.run(), Gate::silu, all, dh.vast.data(), gate_up.vast.data(), dgate_up.vast.data(), 2 * F);
  dispatch::gated_backward(TestRun(1), Gate::silu, three, dh.small.data(), gate_up.small.data(), dgate_up.small.data(), 2 * F);
  dgate_up.expect_equal("SwiGLU backward");
  dispatch::gelu_forward(rows.run(), all, dh.vast.data(), h.vast.data());
  dispatch::gelu_forward(TestRun(1), three, dh.small.data(), h.small.data());
  h.expect_equal("GELU");
  dispatch::gelu_backward(rows.run(), all, dh.vast.data(), h.vast.data(), h.vast.data(), F);
  dispatch::gelu_backward(TestRun(1), three, dh.small.data(), h.small.data(), h.small.data(), F);
  h.expect_equal("GELU backward");
}

TEST(FullCudaVastParity, Norms) {
  TROIKA_NEEDS_BYTES(33 * gigabyte);
  constexpr std::int64_t M = 160000, D = 16384;
  const ThreeRows rows(M, D);
  const Rows all{Dtype::bf16, M, D}, three{Dtype::bf16, 3, D};
  const Guarded<Bf16> w = normal<Bf16>("w", D), bias = normal<Bf16>("bias", D);
  Both<Bf16> x(rows, D, "x"), delta(rows, D, "delta"), sum(rows, D), y(rows, D), dx(rows, D);
  Both<float> mean(rows, 1), rstd(rows, 1);
  dispatch::layer_norm_forward(rows.run(), all, {x.vast.data(), delta.vast.data(), sum.vast.data()}, w.data(), bias.data(), 0.01,
                               y.vast.data(), mean.vast.data(), rstd.vast.data());
  dispatch::layer_norm_forward(TestRun(1), three, {x.small.data(), delta.small.data(), sum.small.data()}, w.data(), bias.data(),
                               0.01, y.small.data(), mean.small.data(), rstd.small.data());
  sum.expect_equal("sum");
  y.expect_equal("LayerNorm");
  Guarded<float> dw(D), dbias(D), workspace(dispatch::layer_norm_backward_floats(all)),
      room(dispatch::layer_norm_backward_floats(three));
  dispatch::layer_norm_backward(rows.run(), all, y.vast.data(), sum.vast.data(), w.data(), mean.vast.data(), rstd.vast.data(),
                                delta.vast.data(), dx.vast.data(), dw.data(), dbias.data(), workspace.data());
  dispatch::layer_norm_backward(TestRun(1), three, y.small.data(), sum.small.data(), w.data(), mean.small.data(),
                                rstd.small.data(), delta.small.data(), dx.small.data(), dw.data(), dbias.data(), room.data());
  dx.expect_equal("LayerNorm backward");
  dispatch::rms_norm_forward(rows.run(), all, {x.vast.data(), nullptr, nullptr}, {w.data()}, 0.01, y.vast.data(), rstd.vast.data());
  dispatch::rms_norm_forward(TestRun(1), three, {x.small.data(), nullptr, nullptr}, {w.data()}, 0.01, y.small.data(),
                             rstd.small.data());
  y.expect_equal("RMSNorm");
  dispatch::rms_norm_backward(rows.run(), all, y.vast.data(), x.vast.data(), {w.data()}, rstd.vast.data(), delta.vast.data(),
                              dx.vast.data(), dw.data(), workspace.data());
  dispatch::rms_norm_backward(TestRun(1), three, y.small.data(), x.small.data(), {w.data()}, rstd.small.data(), delta.small.data(),
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
    const QkNormRope op{Dtype::bf16, batch, 1, n, H, w.data(), 0, table};
    Guarded<float> workspace(dispatch::qk_norm_rope_backward_floats(op));
    const bool is_small = small != nullptr;
    const Heads from = is_small ? heads(x.small) : heads(x.vast);
    float* const statistics = is_small ? rstd.small.data() : rstd.vast.data();
    dispatch::qk_norm_rope_forward(run, op, 0.01, from, is_small ? mutable_heads(y.small) : mutable_heads(y.vast), statistics);
    dispatch::qk_norm_rope_backward(run, op, is_small ? heads(y.small) : heads(y.vast), from, statistics,
                                    is_small ? mutable_heads(dx.small) : mutable_heads(dx.vast), dw.data(), workspace.data());
    dispatch::rope(run, {Dtype::bf16, batch, 1, n, H, table}, Turn::back, from,
                   is_small ? mutable_heads(y.small) : mutable_heads(y.vast));
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
  const auto of = [&](std::int64_t count) { return ScoreRows{count, 1, S, S, 1, S - 5, 0, 0.5f}; };
  Both<float> scores(rows, S, "scores"), gradients(rows, S, "gradients"), lse(rows, 1), dots(rows, 1, "dots");
  dispatch::softmax_gradient(rows.run(), of(heads), scores.vast.data(), gradients.vast.data(), Dtype::fp32, dots.vast.data(),
                             dots.vast.data());
  dispatch::softmax_gradient(TestRun(1), of(3), scores.small.data(), gradients.small.data(), Dtype::fp32, dots.small.data(),
                             dots.small.data());
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
  Both<float> a(rows, n * H, "a"), b(rows, n * H, "b"), sum(rows, n * H), lse_a(rows, n, "lse a"), lse_b(rows, n, "lse b"),
      lse(rows, n), dots(rows, n);
  dispatch::log_add_exp(rows.run(), B * n, lse_a.vast.data(), lse_b.vast.data(), lse.vast.data());
  dispatch::log_add_exp(TestRun(1), 3 * n, lse_a.small.data(), lse_b.small.data(), lse.small.data());
  lse.expect_equal("log-sum-exp");
  dispatch::sum_of_shares(rows.run(), all, {a.vast.data(), lse_a.vast.data()}, {b.vast.data(), lse_b.vast.data()},
                          lse.vast.data(), sum.vast.data());
  dispatch::sum_of_shares(TestRun(1), three, {a.small.data(), lse_a.small.data()}, {b.small.data(), lse_b.small.data()},
                          lse.small.data(), sum.small.data());
  sum.expect_equal("sums of shares");
  dispatch::head_dots(rows.run(), all, Dtype::fp32, a.vast.data(), b.vast.data(), dots.vast.data());
  dispatch::head_dots(TestRun(1), three, Dtype::fp32, a.small.data(), b.small.data(), dots.small.data());
  dots.expect_equal("dots of heads");
}

TEST(CudaVastParity, Dropout) {
  TROIKA_NEEDS_BYTES(12 * gigabyte);
  constexpr std::int64_t M = 1000000, I = 2560;
  const ThreeRows rows(M, I);
  Both<Bf16> x(rows, I, "x"), y(rows, I);
  const auto of = [&](std::int64_t first, std::int64_t count) {
    return DropoutRows{Dtype::bf16, count, I, 0, first};
  };
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
  dispatch::embedding_backward_weight(rows.run(), all, v, {ids.data(), ids.data()}, x.vast.data(), dtable.vast.data(),
                                      begins.data());
  dispatch::embedding_backward_weight(TestRun(1), three, 3, {ids.data(), ids.data()}, x.small.data(), dtable.small.data(),
                                      few_begins.data());
  dtable.expect_equal("gradient of the table");
}

}  // namespace
}  // namespace troika::cuda
