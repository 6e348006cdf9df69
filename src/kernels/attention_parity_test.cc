// B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/attention.h"
#include "kernels/parity_test_support.h"

namespace troika::kernels {
namespace {

struct Case {
  std::int64_t B, T, S, k, H;
  std::vector<std::int64_t> kv_of_head;
  std::int64_t q_offset = 0, k_offset = 0;
  std::vector<std::int64_t> document_starts = {};  // ascending positions; empty: one document
};

std::int64_t start_of_document(const Case& c, std::int64_t position) {
  std::int64_t start = 0;
  for (const std::int64_t s : c.document_starts) start = s <= position ? s : start;
  return start;
}

AttentionInput make_input(const Case& c) {
  const auto n = static_cast<std::int64_t>(c.kv_of_head.size());
  AttentionInput input;
  input.q_BTnH = random_normal("q", {c.B, c.T, n, c.H});
  input.k_BSkH = random_normal("k", {c.B, c.S, c.k, c.H});
  input.v_BSkH = random_normal("v", {c.B, c.S, 2 * c.k, c.H}).narrow(2, c.k, c.k);  // strided, as beside q and k
  input.kv_of_head = c.kv_of_head;
  input.q_offset = c.q_offset;
  input.k_offset = c.k_offset;
  if (!c.document_starts.empty()) {
    input.first_key_BT = at::empty({c.B, c.T}, at::kLong);
    for (std::int64_t t = 0; t < c.T; ++t) input.first_key_BT.select(1, t).fill_(start_of_document(c, c.q_offset + t));
  }
  return input;
}

struct Reference {
  at::Tensor q, k, v, out, lse;
};

// One head of one sequence at a time, the mask by its definition, plain exponentials in double.
Reference reference(const Case& c, const AttentionInput& input) {
  Reference r;
  r.q = leaf(input.q_BTnH);
  r.k = leaf(input.k_BSkH);
  r.v = leaf(input.v_BSkH);
  at::Tensor seen_TS = at::zeros({c.T, c.S}, at::kDouble);
  for (std::int64_t t = 0; t < c.T; ++t) {
    for (std::int64_t s = 0; s < c.S; ++s) {
      const std::int64_t query = c.q_offset + t, key = c.k_offset + s;
      if (key <= query && key >= start_of_document(c, query)) seen_TS[t][s] = 1.0;
    }
  }
  const at::Tensor blind_T = (seen_TS.sum(1) == 0).to(at::kDouble);
  std::vector<at::Tensor> outs, lses;
  for (std::int64_t b = 0; b < c.B; ++b) {
    std::vector<at::Tensor> head_outs, head_lses;
    for (std::size_t head = 0; head < c.kv_of_head.size(); ++head) {
      const at::Tensor q = r.q[b].select(1, static_cast<std::int64_t>(head));
      const at::Tensor k = r.k[b].select(1, c.kv_of_head[head]), v = r.v[b].select(1, c.kv_of_head[head]);
      const at::Tensor e_TS = at::exp(at::matmul(q, k.t()) / std::sqrt(static_cast<double>(c.H))) * seen_TS;
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

void expect_parity(const Case& c, Parity& parity) {
  const AttentionInput input = make_input(c);
  const Reference want = reference(c, input);
  const at::Tensor dout = random_normal("dout", want.out.sizes());
  differentiate(want.out, dout);

  const AttentionOutput output = attention_forward(input);
  EXPECT_TRUE(output.out_BTnH.is_contiguous());
  parity.compare("out", output.out_BTnH, want.out);
  const at::Tensor blind = at::isinf(want.lse);
  EXPECT_TRUE(at::equal(at::isneginf(output.lse_BnT), blind));
  parity.compare("lse", output.lse_BnT.masked_fill(blind, 0.0), want.lse.masked_fill(blind, 0.0));

  const AttentionGradients got = attention_backward(dout, input, output);
  parity.compare("dq", got.dq_BTnH, want.q.grad());
  parity.compare("dk", got.dk_BSkH, want.k.grad());
  parity.compare("dv", got.dv_BSkH, want.v.grad());
}

TEST(AttentionParity, CausalWithOneKeyHeadPerQueryHead) {
  Parity parity;
  expect_parity({2, 24, 24, 4, 16, {0, 1, 2, 3}}, parity);
  expect_parity({1, 1, 1, 1, 1, {0}}, parity);
  expect_parity({3, 7, 7, 2, 5, {0, 1}}, parity);
  expect_parity({1, 65, 65, 1, 33, {0}}, parity);
}

TEST(AttentionParity, GroupedHeads) {
  Parity parity;
  expect_parity({2, 24, 24, 2, 16, {0, 0, 1, 1}}, parity);
  expect_parity({2, 9, 9, 1, 8, {0, 0, 0, 0, 0, 0}}, parity);
}

TEST(AttentionParity, UnevenAndUnorderedMapsOfHeads) {
  Parity parity;
  expect_parity({2, 11, 11, 2, 8, {0, 0, 0, 1}}, parity);
  expect_parity({1, 13, 13, 3, 6, {2, 0, 2, 1, 0}}, parity);
  expect_parity({2, 5, 5, 4, 4, {1, 3, 1}}, parity);  // heads 0 and 2 are read by nobody
}

TEST(AttentionParity, AKeyHeadThatNobodyReadsHasAZeroGradient) {
  const AttentionInput input = make_input({2, 5, 5, 4, 4, {1, 3, 1}});
  const AttentionOutput output = attention_forward(input);
  const AttentionGradients got = attention_backward(at::ones_like(output.out_BTnH), input, output);
  for (const std::int64_t head : {0, 2}) {
    EXPECT_EQ(got.dk_BSkH.select(2, head).abs().max().item<float>(), 0);
    EXPECT_EQ(got.dv_BSkH.select(2, head).abs().max().item<float>(), 0);
  }
}

TEST(AttentionParity, OffsetsOfQueriesAndKeys) {
  Parity parity;
  expect_parity({2, 1, 9, 2, 16, {0, 0, 1, 1}, 8, 0}, parity);    // one new token against a cache
  expect_parity({1, 5, 17, 1, 8, {0, 0}, 12, 0}, parity);         // a chunk against a cache
  expect_parity({2, 8, 8, 2, 8, {0, 1}, 16, 8}, parity);          // an earlier block of keys: all seen
  expect_parity({1, 6, 10, 1, 8, {0, 0, 0}, 1000, 995}, parity);  // far out
}

TEST(AttentionParity, QueriesThatSeeNothing) {
  Parity parity;
  expect_parity({2, 8, 6, 2, 8, {0, 1, 1}, 0, 3}, parity);  // the first three queries stand before all keys
  expect_parity({1, 4, 4, 1, 8, {0, 0}, 0, 4}, parity);     // nobody sees anything
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

TEST(AttentionParity, DocumentBounds) {
  Parity parity;
  expect_parity({2, 20, 20, 2, 8, {0, 0, 1, 1}, 0, 0, {0, 5, 6, 13}}, parity);
  expect_parity({1, 7, 15, 1, 6, {0, 0}, 8, 0, {0, 3, 10}}, parity);
  expect_parity({1, 6, 6, 2, 8, {0, 1}, 10, 2, {0, 4, 12}}, parity);  // later documents see none of these keys
}

TEST(AttentionParity, BoundsMayDifferBetweenSequences) {
  AttentionInput input = make_input({2, 6, 6, 1, 8, {0, 0}});
  input.first_key_BT = at::zeros({2, 6}, at::kLong);
  input.first_key_BT[1].narrow(0, 3, 3).fill_(3);
  const AttentionOutput both = attention_forward(input);
  for (std::int64_t b = 0; b < 2; ++b) {
    AttentionInput one = input;
    one.q_BTnH = input.q_BTnH.narrow(0, b, 1);
    one.k_BSkH = input.k_BSkH.narrow(0, b, 1);
    one.v_BSkH = input.v_BSkH.narrow(0, b, 1);
    one.first_key_BT = input.first_key_BT.narrow(0, b, 1);
    EXPECT_TRUE(at::allclose(attention_forward(one).out_BTnH[0], both.out_BTnH[b], 1e-6, 1e-7));
  }
}

TEST(AttentionParity, ScoresFarApartNeitherOverflowNorVanish) {
  AttentionInput input = make_input({1, 8, 8, 1, 16, {0}});
  input.q_BTnH = input.q_BTnH * 100;
  input.k_BSkH = input.k_BSkH * 100;
  const AttentionOutput output = attention_forward(input);
  EXPECT_TRUE(at::isfinite(output.out_BTnH).all().item<bool>());
  EXPECT_TRUE(at::isfinite(output.lse_BnT).all().item<bool>());
  const AttentionGradients got = attention_backward(at::ones_like(output.out_BTnH), input, output);
  EXPECT_TRUE(at::isfinite(got.dq_BTnH).all().item<bool>());
}

// The reason for returning lse: pieces of the keys, each against the whole's (out, lse) in backward, add up to the
// whole.
TEST(AttentionParity, PiecesOfTheKeysCombineToTheWhole) {
  const AttentionInput whole = make_input({2, 12, 12, 2, 8, {0, 0, 1}});
  const AttentionOutput want = attention_forward(whole);
  const at::Tensor dout = random_normal("dout", want.out_BTnH.sizes());
  const AttentionGradients want_gradients = attention_backward(dout, whole, want);

  std::vector<AttentionInput> pieces;
  for (const auto& [begin, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 5}, {5, 7}}) {
    AttentionInput piece = whole;
    piece.k_BSkH = whole.k_BSkH.narrow(1, begin, count);
    piece.v_BSkH = whole.v_BSkH.narrow(1, begin, count);
    piece.k_offset = begin;
    pieces.push_back(piece);
  }
  const AttentionOutput a = attention_forward(pieces[0]), b = attention_forward(pieces[1]);
  const at::Tensor lse = at::logaddexp(a.lse_BnT, b.lse_BnT);
  const auto weight = [&](const at::Tensor& part) { return at::exp(part - lse).transpose(1, 2).unsqueeze(3); };
  Parity parity;
  parity.compare("lse", lse, want.lse_BnT);
  parity.compare("out", a.out_BTnH * weight(a.lse_BnT) + b.out_BTnH * weight(b.lse_BnT), want.out_BTnH);

  const AttentionGradients ga = attention_backward(dout, pieces[0], want);
  const AttentionGradients gb = attention_backward(dout, pieces[1], want);
  parity.compare("dq", ga.dq_BTnH + gb.dq_BTnH, want_gradients.dq_BTnH);
  parity.compare("dk", at::cat({ga.dk_BSkH, gb.dk_BSkH}, 1), want_gradients.dk_BSkH);
  parity.compare("dv", at::cat({ga.dv_BSkH, gb.dv_BSkH}, 1), want_gradients.dv_BSkH);
}

}  // namespace
}  // namespace troika::kernels
