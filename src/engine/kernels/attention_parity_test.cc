// B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/gemm.h"
#include "kernels/attention.h"
#include "kernels/parity_test_support.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

struct AttentionCase {
  std::int64_t B, T, S, k, H;
  std::vector<std::int64_t> kv_of_head;
  std::int64_t q_offset = 0, k_offset = 0;
  std::vector<AttentionPart> parts = {};
  ScoreRule rule = {};

  bool within(std::int64_t before) const { return before >= 0 && (rule.window == 0 || before < rule.window); }
  bool sees(std::int64_t query, std::int64_t key) const {
    if (parts.empty()) return within(q_offset + query - k_offset - key);
    return std::any_of(parts.begin(), parts.end(), [&](const AttentionPart& part) {
      const std::int64_t i = query - part.q.begin, j = key - part.k.begin;
      return i >= 0 && i < part.q.count && j >= 0 && j < part.k.count && within(i + part.reach - j);
    });
  }
};

AttentionInput make_input(const AttentionCase& c, at::ScalarType dtype = at::kFloat) {
  const auto n = static_cast<std::int64_t>(c.kv_of_head.size());
  AttentionInput input;
  input.q_BTnH = random_normal("q", {c.B, c.T, n, c.H}).to(dtype);
  input.k_BSkH = random_normal("k", {c.B, c.S, c.k, c.H}).to(dtype);
  input.v_BSkH = random_normal("v", {c.B, c.S, 2 * c.k, c.H}).to(dtype).narrow(2, c.k, c.k);  // strided, as beside k
  input.kv_of_head = c.kv_of_head;
  input.q_offset = c.q_offset;
  input.k_offset = c.k_offset;
  input.parts = c.parts;
  input.rule = c.rule;
  return input;
}

struct AttentionReference {
  at::Tensor q, k, v, out, lse;
};

// One head of one sequence at a time, the mask by its definition, plain exponentials in double.
AttentionReference reference(const AttentionCase& c, const AttentionInput& input) {
  AttentionReference r;
  r.q = leaf(input.q_BTnH);
  r.k = leaf(input.k_BSkH);
  r.v = leaf(input.v_BSkH);
  const at::Tensor seen_TS = at::zeros({c.T, c.S}, at::kDouble);
  auto seen = seen_TS.accessor<double, 2>();
  for (std::int64_t t = 0; t < c.T; ++t) {
    for (std::int64_t s = 0; s < c.S; ++s) {
      if (c.sees(t, s)) seen[t][s] = 1.0;
    }
  }
  const at::Tensor blind_T = (seen_TS.sum(1) == 0).to(at::kDouble);
  std::vector<at::Tensor> outs, lses;
  for (std::int64_t b = 0; b < c.B; ++b) {
    std::vector<at::Tensor> head_outs, head_lses;
    for (std::size_t head = 0; head < c.kv_of_head.size(); ++head) {
      const at::Tensor q = r.q[b].select(1, static_cast<std::int64_t>(head));
      const at::Tensor k = r.k[b].select(1, c.kv_of_head[head]), v = r.v[b].select(1, c.kv_of_head[head]);
      const at::Tensor e_TS = at::exp(at::matmul(q, k.t()) * c.rule.scale_for(c.H)) * seen_TS;
      const at::Tensor sum_T = e_TS.sum(1);
      head_outs.push_back(at::matmul(e_TS, v) / (sum_T + blind_T).unsqueeze(1));
      head_lses.push_back(at::log(sum_T.detach()));
    }
    outs.push_back(at::stack(head_outs, 1));
    lses.push_back(at::stack(head_lses, 0));
  }
  r.out = at::stack(outs, 0);
  r.lse = at::stack(lses, 0);
  return r;
}

// Beside its own rounding a gradient carries that of `out`: two units in the last place.
constexpr double attention_gradient_units = 2;

// Where halves are multiplied the weights are halves too: their rounding comes beside the result's own.
double attention_units(const AttentionCase& c, at::ScalarType dtype) {
  return dtype == at::kBFloat16 && c.H % 2 == 0 && cpu::multiplies_halves() ? 1 : 0.5;
}

void expect_attention_parity(const AttentionCase& c, at::ScalarType dtype) {
  const AttentionInput input = make_input(c, dtype);
  const AttentionReference want = reference(c, input);
  const at::Tensor dout = random_normal("dout", want.out.sizes()).to(dtype);
  differentiate(want.out, dout);

  Parity stored(dtype, attention_units(c, dtype)), exact, gradients(dtype, attention_gradient_units);
  const AttentionOutput output = attention_forward(input);
  EXPECT_TRUE(output.out_BTnH.is_contiguous());
  EXPECT_EQ(tensor::theirs(output.out_BTnH).scalar_type(), dtype);
  stored.compare("out", output.out_BTnH, want.out);
  const at::Tensor blind = at::isinf(want.lse);
  EXPECT_TRUE(at::equal(at::isneginf(output.lse_BnT), blind));
  exact.compare("lse", tensor::theirs(output.lse_BnT).masked_fill(blind, 0.0), want.lse.masked_fill(blind, 0.0));

  const AttentionGradients got = attention_backward(dout, input, output);
  for (const at::Tensor gradient : {got.dq_BTnH, got.dk_BSkH, got.dv_BSkH}) {
    EXPECT_EQ(gradient.scalar_type(), dtype);
    EXPECT_TRUE(gradient.is_contiguous());
  }
  gradients.compare("dq", got.dq_BTnH, want.q.grad());
  gradients.compare("dk", got.dk_BSkH, want.k.grad());
  stored.compare("dv", got.dv_BSkH, want.v.grad());
}

void expect_attention_parity(const AttentionCase& c) {
  for (const at::ScalarType dtype : dtypes) expect_attention_parity(c, dtype);
}

TEST(AttentionParity, CausalWithOneKeyHeadPerQueryHead) {
  expect_attention_parity({2, 24, 24, 4, 16, {0, 1, 2, 3}});
  expect_attention_parity({1, 1, 1, 1, 1, {0}});
  expect_attention_parity({3, 7, 7, 2, 5, {0, 1}});
  expect_attention_parity({1, 65, 65, 1, 33, {0}});
}

TEST(AttentionParity, GroupedHeads) {
  expect_attention_parity({2, 24, 24, 2, 16, {0, 0, 1, 1}});
  expect_attention_parity({2, 9, 9, 1, 8, {0, 0, 0, 0, 0, 0}});
}

TEST(AttentionParity, UnevenAndUnorderedMapsOfHeads) {
  expect_attention_parity({2, 11, 11, 2, 8, {0, 0, 0, 1}});
  expect_attention_parity({1, 13, 13, 3, 6, {2, 0, 2, 1, 0}});
  expect_attention_parity({2, 5, 5, 4, 4, {1, 3, 1}});  // heads 0 and 2 are read by nobody
}

TEST(AttentionParity, AKeyHeadThatNobodyReadsHasAZeroGradient) {
  const AttentionInput input = make_input({2, 5, 5, 4, 4, {1, 3, 1}});
  const AttentionOutput output = attention_forward(input);
  const AttentionGradients got = attention_backward(at::ones_like(output.out_BTnH), input, output);
  for (const std::int64_t head : {0, 2}) {
    EXPECT_EQ(tensor::theirs(got.dk_BSkH.select(2, head)).abs().max().item<float>(), 0);
    EXPECT_EQ(tensor::theirs(got.dv_BSkH.select(2, head)).abs().max().item<float>(), 0);
  }
}

TEST(AttentionParity, OffsetsOfQueriesAndKeys) {
  expect_attention_parity({2, 1, 9, 2, 16, {0, 0, 1, 1}, 8, 0});    // one new token against a cache
  expect_attention_parity({1, 5, 17, 1, 8, {0, 0}, 12, 0});         // a chunk against a cache
  expect_attention_parity({2, 8, 8, 2, 8, {0, 1}, 16, 8});          // an earlier block of keys: all seen
  expect_attention_parity({1, 6, 10, 1, 8, {0, 0, 0}, 1000, 995});  // far out
}

TEST(AttentionParity, QueriesThatSeeNothing) {
  expect_attention_parity({2, 8, 6, 2, 8, {0, 1, 1}, 0, 3});  // the first three queries are before all keys
  expect_attention_parity({1, 4, 4, 1, 8, {0, 0}, 0, 4});     // nobody sees anything
}

TEST(AttentionParity, ABlindQueryGivesZeroOutputAndZeroGradients) {
  const AttentionInput input = make_input({1, 4, 4, 1, 8, {0, 0}, 0, 4});
  const AttentionOutput output = attention_forward(input);
  EXPECT_TRUE(at::equal(output.out_BTnH, at::zeros_like(output.out_BTnH)));
  const AttentionGradients got = attention_backward(at::ones_like(output.out_BTnH), input, output);
  EXPECT_TRUE(at::equal(got.dq_BTnH, at::zeros_like(got.dq_BTnH)));
  EXPECT_TRUE(at::equal(got.dk_BSkH, at::zeros_like(got.dk_BSkH)));
  EXPECT_TRUE(at::equal(got.dv_BSkH, at::zeros_like(got.dv_BSkH)));
}

TEST(AttentionParity, PartsOfAnyLength) {
  expect_attention_parity({1, 20, 20, 2, 8, {0, 0, 1, 1}, 0, 0, {{{0, 5}, {0, 5}}, {{5, 1}, {5, 1}}, {{6, 14}, {6, 14}}}});
  expect_attention_parity({1, 24, 24, 2, 8, {0, 1}, 0, 0, equal_parts(3, 8)});
  expect_attention_parity({1, 9, 15, 1, 6, {0, 0}, 0, 0, {{{4, 3}, {2, 9}, 5}, {{0, 2}, {12, 3}, 3}}});  // rows between and behind them
}

TEST(AttentionParity, SequencesLongerThanABlock) {
  expect_attention_parity({1, 130, 130, 2, 64, {0, 0, 1, 1}});
  expect_attention_parity({1, 300, 300, 1, 24, {0, 0}, 0, 0, {{{0, 5}, {0, 5}}, {{5, 135}, {5, 135}}, {{140, 160}, {140, 160}}}});
  expect_attention_parity({1, 70, 390, 1, 48, {0, 0}, 320, 0});
  expect_attention_parity({1, 300, 70, 1, 20, {0}, 0, 150});  // the first 150 see nothing
}

TEST(AttentionParity, WindowsOfAnyWidth) {
  for (const std::int64_t window : {1, 2, 15, 63, 64, 65, 128, 299, 300, 301}) {
    expect_attention_parity({1, 300, 300, 1, 32, {0, 0}, 0, 0, {}, {0, window}}, at::kFloat);
    expect_attention_parity({1, 300, 300, 2, 20, {0, 1}, 0, 0, {{{0, 5}, {0, 5}}, {{5, 295}, {5, 295}}}, {0.3, window}}, at::kFloat);
    expect_attention_parity({1, 70, 390, 1, 48, {0, 0}, 320, 0, {}, {0, window}}, at::kFloat);
  }
  for (const std::int64_t window : {3, 70, 200}) expect_attention_parity({1, 280, 280, 1, 64, {0, 0}, 0, 0, {}, {0, window}});
}

TEST(AttentionParity, WindowsBehindWhichSomeQueriesSeeNothing) {
  expect_attention_parity({1, 520, 300, 1, 16, {0, 0}, 200, 0, {}, {0, 90}}, at::kFloat);     // the last queries are beyond all keys
  expect_attention_parity({1, 40, 520, 1, 16, {0}, 530, 0, {}, {0, 100}}, at::kFloat);        // the first keys are before all windows
  expect_attention_parity({2, 30, 30, 1, 16, {0}, 500, 0, {}, {0, 100}}, at::kFloat);         // nobody sees anything
  expect_attention_parity({1, 300, 600, 1, 16, {0, 0}, 0, 0, {{{20, 270}, {10, 580}, 700}}, {0, 400}}, at::kFloat);
}

// Grouped or unordered heads, keys before or after the queries, parts.
AttentionCase draw_case(base::Draw& draw) {
  AttentionCase c{draw.from(1, 3), random_size(draw, 150), random_size(draw, 150),
                  draw.from(1, 3), random_size(draw, 70),  {}};
  for (int heads = draw.from(1, 5); heads > 0; --heads) c.kv_of_head.push_back(draw.from(0, static_cast<int>(c.k) - 1));
  c.q_offset = draw.any<int>({0, 0, draw.from(0, 160)});
  c.k_offset = draw.any<int>({0, 0, draw.from(0, 40)});
  if (draw.one_in(2)) {
    c.B = 1;
    const std::int64_t q = draw.from(0, static_cast<int>(c.T)), k = draw.from(0, static_cast<int>(c.S));
    c.parts = {{{0, q}, {0, k}, draw.from(-5, 20)}, {{q, c.T - q}, {k, c.S - k}, draw.from(-5, 20)}};
  }
  if (draw.one_in(3)) c.rule = {0.5, draw.from(1, 120)};
  return c;
}

TEST(AttentionParity, RandomShapes) {
  base::Draw draw("attention");
  for (int i = 0; i < 40; ++i) expect_attention_parity(draw_case(draw), at::kFloat);
}

TEST(AttentionParity, ScoresFarApartNeitherOverflowNorVanish) {
  AttentionInput input = make_input({1, 8, 8, 1, 16, {0}});
  input.q_BTnH = tensor::theirs(input.q_BTnH) * 100;
  input.k_BSkH = tensor::theirs(input.k_BSkH) * 100;
  const AttentionOutput output = attention_forward(input);
  EXPECT_TRUE(at::isfinite(output.out_BTnH).all().item<bool>());
  EXPECT_TRUE(at::isfinite(output.lse_BnT).all().item<bool>());
  const AttentionGradients got = attention_backward(at::ones_like(output.out_BTnH), input, output);
  EXPECT_TRUE(at::isfinite(got.dq_BTnH).all().item<bool>());
}

// The reason for returning lse: attention over pieces of the keys merges to the whole, and each piece, against the
// merged (out, lse) in backward, gives its keys' gradients and its contribution to dq.
struct Piece {
  std::int64_t begin, count;  // of the keys
};

AttentionInput piece_of(const AttentionInput& whole, const Piece& piece) {
  AttentionInput part = whole;
  part.k_BSkH = whole.k_BSkH.narrow(1, piece.begin, piece.count);
  part.v_BSkH = whole.v_BSkH.narrow(1, piece.begin, piece.count);
  part.k_offset = whole.k_offset + piece.begin;
  return part;
}

AttentionOutput merged(const AttentionInput& whole, const std::vector<Piece>& pieces) {
  AttentionOutput sum = attention_forward(piece_of(whole, pieces.front()));
  for (std::size_t i = 1; i < pieces.size(); ++i) attention_merge(sum, attention_forward(piece_of(whole, pieces[i])));
  return sum;
}

void expect_pieces_make_the_whole(const AttentionCase& c, const std::vector<Piece>& pieces, at::ScalarType dtype) {
  const AttentionInput whole = make_input(c, dtype);
  const AttentionReference want = reference(c, whole);
  const at::Tensor dout = random_normal("dout", want.out.sizes()).to(dtype), blind = at::isinf(want.lse);
  differentiate(want.out, dout);

  Parity rounded_pieces(dtype, 1), exact, gradients(dtype, attention_gradient_units);
  const AttentionOutput sum = merged(whole, pieces);
  EXPECT_EQ(tensor::theirs(sum.out_BTnH).scalar_type(), at::kFloat);
  EXPECT_TRUE(sum.out_BTnH.is_contiguous());
  EXPECT_TRUE(at::equal(at::isneginf(sum.lse_BnT), blind));
  exact.compare("merged lse", tensor::theirs(sum.lse_BnT).masked_fill(blind, 0.0), want.lse.masked_fill(blind, 0.0));
  rounded_pieces.compare("merged out", sum.out_BTnH, want.out);

  at::Tensor dq = at::zeros(tensor::theirs(whole.q_BTnH.sizes()));
  for (const Piece& piece : pieces) {
    const AttentionGradients got = attention_backward(dout, piece_of(whole, piece), sum);
    dq.add_(got.dq_BTnH);
    const auto of_piece = [&](const at::Tensor& all) { return all.grad().narrow(1, piece.begin, piece.count); };
    gradients.compare("dk of a piece", got.dk_BSkH, of_piece(want.k));
    gradients.compare("dv of a piece", got.dv_BSkH, of_piece(want.v));
  }
  gradients.compare("sum of dq", dq, want.q.grad());
}

TEST(AttentionParity, PiecesOfTheKeysMergeToTheWhole) {
  for (const at::ScalarType dtype : dtypes) {
    expect_pieces_make_the_whole({2, 12, 12, 2, 8, {0, 0, 1}}, {{0, 5}, {5, 7}}, dtype);
    expect_pieces_make_the_whole({2, 12, 12, 2, 8, {0, 0, 1}}, {{5, 7}, {0, 5}}, dtype);  // in another order
    expect_pieces_make_the_whole({1, 7, 7, 1, 5, {0, 0}}, {{6, 1}, {2, 4}, {1, 1}, {0, 1}}, dtype);
    expect_pieces_make_the_whole({2, 4, 16, 2, 8, {0, 1}, 4, 0}, {{4, 4}, {0, 4}, {12, 4}, {8, 4}}, dtype);
    expect_pieces_make_the_whole({1, 150, 150, 1, 8, {0, 0}}, {{0, 70}, {70, 80}}, dtype);
    expect_pieces_make_the_whole({1, 6, 6, 1, 8, {0, 0}, 0, 3}, {{0, 3}, {3, 3}}, dtype);  // some see nothing at all
  }
}

TEST(AttentionParity, AMergeHasTheSameBitsForEveryNumberOfThreads) {
  const auto output = [](const char* name) {
    return AttentionOutput{random_normal(name, {3, 9973, 7, 5}), random_normal(name, {3, 7, 9973})};
  };
  std::vector<AttentionOutput> sums;
  for (const int threads : {1, 2, 3, 5, 7}) {
    tensor::set_threads(threads);
    sums.push_back(output("a"));
    attention_merge(sums.back(), output("b"));
    EXPECT_TRUE(at::equal(sums.back().out_BTnH, sums[0].out_BTnH)) << threads;
    EXPECT_TRUE(at::equal(sums.back().lse_BnT, sums[0].lse_BnT)) << threads;
  }
  tensor::set_threads(1);
}

TEST(AttentionParity, MergingWhatSawNothingChangesNoValue) {
  const AttentionInput seen = make_input({2, 6, 6, 2, 8, {0, 1}}), unseen = make_input({2, 6, 6, 2, 8, {0, 1}, 0, 6});
  const AttentionOutput want = attention_forward(seen), nothing = attention_forward(unseen);
  AttentionOutput first = want, last = nothing, neither = nothing;
  attention_merge(first, nothing);
  attention_merge(last, want);
  attention_merge(neither, nothing);
  for (const AttentionOutput& sum : {first, last}) {
    EXPECT_TRUE(at::equal(sum.out_BTnH, want.out_BTnH));
    EXPECT_TRUE(at::equal(sum.lse_BnT, want.lse_BnT));
  }
  EXPECT_TRUE(at::equal(neither.out_BTnH, at::zeros_like(nothing.out_BTnH)));
  EXPECT_TRUE(at::isneginf(neither.lse_BnT).all().item<bool>());
}

TEST(AttentionParity, ANanOfEitherPieceIsNotHiddenInAMerge) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), blind = -std::numeric_limits<float>::infinity();
  for (const float other : {0.5f, blind}) {
    for (const bool first : {true, false}) {
      const AttentionOutput bad{at::ones({1, 2, 1, 3}), at::tensor({nan, 0.5f}).view({1, 1, 2})};
      const AttentionOutput good{at::zeros({1, 2, 1, 3}), at::full({1, 1, 2}, other)};
      AttentionOutput sum = first ? bad : good;
      attention_merge(sum, first ? good : bad);
      const at::Tensor lse = sum.lse_BnT, out = sum.out_BTnH;
      EXPECT_TRUE(lse[0][0][0].isnan().item<bool>());
      EXPECT_TRUE(out[0][0].isnan().all().item<bool>());
      EXPECT_TRUE(lse[0][0][1].isfinite().item<bool>());
      EXPECT_TRUE(out[0][1].isfinite().all().item<bool>());
    }
  }
}

// The sum of two negative zeros is one.
TEST(AttentionParity, AMergeKeepsTheSignsOfZeros) {
  const auto zeros = [] { return AttentionOutput{at::full({1, 2, 1, 3}, -0.0f), at::zeros({1, 1, 2})}; };
  AttentionOutput sum = zeros();
  attention_merge(sum, zeros());
  EXPECT_TRUE(tensor::theirs(sum.out_BTnH).signbit().all().item<bool>());
}

TEST(AttentionParity, PiecesWithScoresFarApartMergeWithoutOverflow) {
  AttentionInput whole = make_input({1, 8, 8, 1, 16, {0}});
  whole.q_BTnH = tensor::theirs(whole.q_BTnH) * 100;
  whole.k_BSkH = tensor::theirs(whole.k_BSkH) * 100;
  const AttentionOutput want = attention_forward(whole), sum = merged(whole, {{0, 3}, {3, 5}});
  Parity parity;
  parity.compare("out", sum.out_BTnH, want.out_BTnH);
  parity.compare("lse", sum.lse_BnT, want.lse_BnT);
}

TEST(AttentionParity, InFp32QueryHeadsOfOneKeyHeadAddUpInHeadOrder) {
  const AttentionInput shared = make_input({2, 9, 9, 2, 16, {1, 0, 1, 1}});  // 1 / sqrt(16) scales exactly
  AttentionInput single = shared;  // each query head with a key/value head of its own
  const at::Tensor heads = at::tensor(shared.kv_of_head, at::kLong);
  single.k_BSkH = tensor::theirs(shared.k_BSkH).index_select(2, heads);
  single.v_BSkH = tensor::theirs(shared.v_BSkH).index_select(2, heads);
  single.kv_of_head = {0, 1, 2, 3};
  const AttentionOutput output = attention_forward(shared);
  const at::Tensor dout = random_normal("dout", tensor::theirs(output.out_BTnH.sizes()));
  const AttentionGradients got = attention_backward(dout, shared, output);
  const AttentionGradients of_heads = attention_backward(dout, single, output);
  EXPECT_TRUE(at::equal(got.dq_BTnH, of_heads.dq_BTnH));
  for (const auto& [sum, part] : {std::pair(got.dk_BSkH, of_heads.dk_BSkH), std::pair(got.dv_BSkH, of_heads.dv_BSkH)}) {
    EXPECT_TRUE(at::equal(sum.select(2, 0), part.select(2, 1)));
    EXPECT_TRUE(at::equal(sum.select(2, 1), tensor::theirs(part.select(2, 0)) + part.select(2, 2) + part.select(2, 3)));
  }
}

}  // namespace
}  // namespace troika::kernels
