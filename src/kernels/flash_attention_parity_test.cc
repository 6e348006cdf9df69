// What lies around a call of flash attention, with a plain function in its place, beside the reference implementation.
// B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "kernels/flash_attention.h"
#include "kernels/parity_test_support.h"
#include "kernels/reference/reference_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::kernels {
namespace {

constexpr double unwritten = std::numeric_limits<double>::quiet_NaN();

// The sequences or documents of a call, each as a view. What lies beyond the lengths that the call names is no part.
class FlashParts {
 public:
  explicit FlashParts(const FlashInput& x) : varlen_(x.varlen), count_(x.q.size(0)) {
    if (!varlen_.defined()) return;
    count_ = varlen_.cu_seqlens_q.size(0) - 1;
    if (varlen_.max_seqlen_q == 1 && x.q.size(1) > x.k.size(1) && count_ != x.q.size(0))
      throw std::runtime_error("shape is invalid for the size of q");
  }
  std::int64_t count() const { return count_; }
  at::Tensor queries(const at::Tensor& x, std::int64_t i) const {
    return varlen_.defined() ? part(x, 0, varlen_.cu_seqlens_q, i, varlen_.max_seqlen_q) : x[i];
  }
  at::Tensor keys(const at::Tensor& x, std::int64_t i) const {
    return varlen_.defined() ? part(x, 0, varlen_.cu_seqlens_k, i, varlen_.max_seqlen_k) : x[i];
  }
  at::Tensor lse(const at::Tensor& x, std::int64_t i) const {
    return varlen_.defined() ? part(x, 1, varlen_.cu_seqlens_q, i, varlen_.max_seqlen_q) : x[i];
  }

 private:
  static at::Tensor part(const at::Tensor& x, std::int64_t dim, const at::Tensor& cu_seqlens, std::int64_t i,
                         std::int64_t longest) {
    const auto begin = cu_seqlens[i].item<std::int64_t>(), end = cu_seqlens[i + 1].item<std::int64_t>();
    return x.narrow(dim, begin, std::min(end - begin, longest));
  }
  const Varlen varlen_;
  std::int64_t count_;
};

// One query head of one part, in double.
struct FlashHead {
  FlashHead(const FlashInput& x, const FlashParts& parts, std::int64_t part, std::int64_t head)
      : kv_head(head / (x.q.size(-2) / x.k.size(-2))),
        q(parts.queries(x.q, part).select(1, head).to(at::kDouble)),
        k(parts.keys(x.k, part).select(1, kv_head).to(at::kDouble)),
        v(parts.keys(x.v, part).select(1, kv_head).to(at::kDouble)),
        scores(at::matmul(q, k.t()) * x.scale),
        seen(at::ones_like(scores)) {
    if (x.mask == FlashMask::causal) seen.tril_(k.size(0) - q.size(0));
  }
  std::int64_t kv_head;
  at::Tensor q, k, v, scores, seen;
};

FlashOutput plain_forward(const FlashInput& x) {
  const FlashParts parts(x);
  const std::int64_t n = x.q.size(-2);
  std::vector<std::int64_t> of_lse{n, x.q.size(0)};
  if (!x.varlen.defined()) of_lse = {x.q.size(0), n, x.q.size(1)};
  FlashOutput output{at::full_like(tensor::theirs(x.q), unwritten, at::MemoryFormat::Contiguous),
                     at::full(of_lse, unwritten, at::kFloat)};
  for (std::int64_t part = 0; part < parts.count(); ++part) {
    for (std::int64_t head = 0; head < n; ++head) {
      const FlashHead h(x, parts, part, head);
      const at::Tensor e = h.scores.exp() * h.seen, sum = e.sum(1), blind = sum == 0;
      parts.queries(output.out, part)
          .select(1, head)
          .copy_(at::matmul(e, h.v) / sum.masked_fill(blind, 1).unsqueeze(1));
      parts.lse(output.lse, part)[head].copy_(sum.log().masked_fill(blind, std::numeric_limits<double>::infinity()));
    }
  }
  return output;
}

FlashGradients plain_backward(const at::Tensor& dout, const FlashInput& x, const FlashOutput& output) {
  EXPECT_TRUE(dout.is_contiguous() && output.out.is_contiguous() && output.lse.is_contiguous());
  EXPECT_TRUE(tensor::ours(dout.scalar_type()) == x.q.dtype() && output.out.dtype() == x.q.dtype());
  const FlashParts parts(x);
  const auto empty = [](const at::Tensor& like) { return at::full(like.sizes(), unwritten, at::kDouble); };
  FlashGradients d{empty(x.q), empty(x.k), empty(x.v)};
  for (std::int64_t part = 0; part < parts.count(); ++part) {
    for (const at::Tensor of_keys : {d.dk, d.dv}) parts.keys(of_keys, part).zero_();
    for (std::int64_t head = 0; head < x.q.size(-2); ++head) {
      const FlashHead h(x, parts, part, head);
      const at::Tensor dy = parts.queries(dout, part).select(1, head).to(at::kDouble);
      const at::Tensor y = parts.queries(output.out, part).select(1, head).to(at::kDouble);
      const at::Tensor lse = parts.lse(output.lse, part)[head].to(at::kDouble).unsqueeze(1);
      const at::Tensor p = (h.scores - lse).exp() * h.seen;
      const at::Tensor ds = p * (at::matmul(dy, h.v.t()) - (dy * y).sum(1, true)) * x.scale;
      parts.queries(d.dq, part).select(1, head).copy_(at::matmul(ds, h.k));
      parts.keys(d.dk, part).select(1, h.kv_head).add_(at::matmul(ds.t(), h.q));
      parts.keys(d.dv, part).select(1, h.kv_head).add_(at::matmul(p.t(), dy));
    }
  }
  for (tensor::Tensor* gradient : {&d.dq, &d.dk, &d.dv}) *gradient = gradient->to(x.q.dtype());
  return d;
}

void expect_same_output(const AttentionOutput& got, const AttentionOutput& want, at::ScalarType dtype) {
  Parity stored(dtype, 1), exact;
  EXPECT_TRUE(got.out_BTnH.is_contiguous() && got.lse_BnT.is_contiguous());
  EXPECT_EQ(tensor::theirs(got.out_BTnH).scalar_type(), dtype);
  EXPECT_EQ(tensor::theirs(got.lse_BnT).scalar_type(), at::kFloat);
  stored.compare("out", got.out_BTnH, want.out_BTnH);
  const at::Tensor blind = at::isneginf(want.lse_BnT);
  EXPECT_TRUE(at::equal(at::isneginf(got.lse_BnT), blind));
  exact.compare("lse", tensor::theirs(got.lse_BnT).masked_fill(blind, 0.0), tensor::theirs(want.lse_BnT).masked_fill(blind, 0.0));
}

// Where a query sees one key, scores have no gradient, and what the reference implementation gives is the rounding of fp32: below 1e-6
// beside other values, below 1e-5 where all are such sums.
at::Tensor without_rounding(const at::Tensor& x) {
  const bool all = x.numel() == 0 || x.abs().max().item<double>() < 1e-5;
  return x.masked_fill(x.abs() < (all ? 1e-5 : 1e-6), 0.0);
}

// Each side rounds its gradient once, and in halves flash attention before it adds heads too.
void expect_same_gradients(const AttentionGradients& got, const AttentionGradients& want, at::ScalarType dtype) {
  Parity parity(dtype, 3);
  for (const at::Tensor gradient : {got.dq_BTnH, got.dk_BSkH, got.dv_BSkH}) {
    EXPECT_TRUE(gradient.is_contiguous());
    EXPECT_EQ(gradient.scalar_type(), dtype);
  }
  parity.compare("dq", got.dq_BTnH, without_rounding(want.dq_BTnH));
  parity.compare("dk", got.dk_BSkH, without_rounding(want.dk_BSkH));
  parity.compare("dv", got.dv_BSkH, want.dv_BSkH);
}

void expect_flash_parity(const AttentionInput& input) {
  const at::ScalarType dtype = tensor::theirs(input.q_BTnH).scalar_type();
  ASSERT_TRUE(flash_attention_takes(input));
  const AttentionOutput want = reference::attention_forward(input);
  expect_same_output(flash_attention_forward(input, plain_forward), want, dtype);
  const at::Tensor dout = random_normal("dout", tensor::theirs(want.out_BTnH.sizes())).to(dtype);
  expect_same_gradients(flash_attention_backward(dout, input, want, plain_backward),
                        reference::attention_backward(dout, input, want), dtype);
}

struct Heads {
  std::int64_t k;
  std::vector<std::int64_t> kv_of_head;
};
const Heads grouped{2, {0, 0, 1, 1}};

AttentionInput flash_test_input(std::int64_t B, const CausalWindow& w, const Heads& heads = grouped,
                                at::ScalarType dtype = at::kFloat) {
  constexpr std::int64_t H = 6;
  AttentionInput input;
  input.q_BTnH = random_normal("q", {B, w.T, static_cast<std::int64_t>(heads.kv_of_head.size()), H}).to(dtype);
  input.k_BSkH = random_normal("k", {B, w.S, heads.k, H}).to(dtype);
  input.v_BSkH = random_normal("v", {B, w.S, 2 * heads.k, H}).to(dtype).narrow(2, heads.k, heads.k);  // as beside k
  input.kv_of_head = heads.kv_of_head;
  input.q_offset = w.q_offset;
  input.k_offset = w.k_offset;
  return input;
}

DocumentBounds bounds_of(const at::Tensor& first_key_BT, const CausalWindow& w) {
  return {first_key_BT, varlen_of(first_key_BT, w)};
}

// The position at which the document of each position begins; lengths of documents, by sequence.
using SequenceLengths = std::vector<std::vector<std::int64_t>>;
at::Tensor begins_of(const SequenceLengths& lengths) {
  std::vector<at::Tensor> rows;
  for (const auto& of_sequence : lengths) {
    std::vector<std::int64_t> begins;
    for (const std::int64_t length : of_sequence)
      begins.insert(begins.end(), static_cast<std::size_t>(length), static_cast<std::int64_t>(begins.size()));
    rows.push_back(at::tensor(begins, at::kLong));
  }
  return at::stack(rows);
}

const SequenceLengths packed[] = {{{13}},
                                  {{1, 12}},
                                  {{12, 1}},
                                  {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
                                  {{5, 1, 1, 6}, {13}},
                                  {{1, 7, 5}, {4, 4, 4, 1}, {2, 11}},
                                  {{6, 7}, {1, 1, 11}, {13}}};

const Heads all_heads[] = {{3, {0, 1, 2}},          {2, {0, 0, 1, 1}}, {1, {0, 0, 0, 0, 0}}, {2, {0, 0, 0, 1}},
                           {3, {2, 0, 2, 1, 0, 1}}, {4, {1, 3, 1}},    {2, {1, 0}},          {2, {0, 1, 0, 1}}};

std::string text(const Heads& heads) { return fmt::format("{} of {}", fmt::join(heads.kv_of_head, " "), heads.k); }

TEST(FlashAttentionParity, GroupsOfHeadsAndOtherMaps) {
  for (const Heads& heads : all_heads) {
    SCOPED_TRACE(text(heads));
    for (const std::int64_t B : {1, 2, 3}) {
      for (const std::int64_t T : {1, 2, 7, 13}) expect_flash_parity(flash_test_input(B, {T, T}, heads));
    }
  }
}

TEST(FlashAttentionParity, PackedDocuments) {
  for (const SequenceLengths& lengths : packed) {
    for (const Heads& heads : all_heads) {
      SCOPED_TRACE(text(heads));
      AttentionInput input = flash_test_input(static_cast<std::int64_t>(lengths.size()), {13, 13}, heads);
      input.documents = bounds_of(begins_of(lengths), {13, 13});
      expect_flash_parity(input);
    }
  }
}

TEST(FlashAttentionParity, HalfPrecision) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    for (const Heads& heads : all_heads) {
      SCOPED_TRACE(text(heads));
      AttentionInput input = flash_test_input(3, {13, 13}, heads, dtype);
      expect_flash_parity(input);
      input.documents = bounds_of(begins_of(packed[5]), {13, 13});
      expect_flash_parity(input);
    }
  }
}

TEST(FlashAttentionParity, OffsetsOfQueriesAndKeys) {
  const CausalWindow windows[] = {{1, 9, 8, 0},       // a new token against a cache
                                  {5, 17, 12, 0},     // a chunk against a cache
                                  {6, 10, 104, 100},  // far out
                                  {8, 8, 16, 8},      // an earlier block of keys
                                  {3, 8, 107, 100},   // from the last key on
                                  {9, 4, 0, 5},       // the first queries stand before all keys
                                  {4, 4, 0, 4},       // all do
                                  {4, 4, 0, 100}};
  for (const CausalWindow& w : windows) {
    SCOPED_TRACE(fmt::format("T {} S {} q_offset {} k_offset {}", w.T, w.S, w.q_offset, w.k_offset));
    for (const std::int64_t B : {1, 2}) expect_flash_parity(flash_test_input(B, w));
  }
}

TEST(FlashAttentionParity, DocumentsBesideOffsets) {
  const CausalWindow chunk{7, 15, 8, 0}, far{6, 10, 104, 100}, before{9, 4, 0, 5};
  AttentionInput input = flash_test_input(2, chunk);
  input.documents = bounds_of(begins_of({{3, 7, 5}, {15}}).narrow(1, 8, 7), chunk);
  expect_flash_parity(input);
  input = flash_test_input(1, far);
  input.documents = bounds_of(at::tensor({90, 90, 106, 106, 108, 108}, at::kLong).unsqueeze(0), far);
  expect_flash_parity(input);
  input = flash_test_input(1, before);
  input.documents = bounds_of(at::tensor({0, 0, 0, 3, 3, 3, 6, 6, 6}, at::kLong).unsqueeze(0), before);
  expect_flash_parity(input);
}

// A sequence of T positions dealt out to the ranks of a context-parallel group: rank r has chunks r and 2 cp - 1 - r.
using Places = std::vector<std::int64_t>;
Places chunk_of(std::int64_t T, int i, int cp) {
  return positions_from(T * i / (2 * cp), T * (i + 1) / (2 * cp) - T * i / (2 * cp));
}
Places joined(Places a, const Places& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Queries of one rank and keys of another, which are a key's positions in the piece.
struct ContextPiece {
  Places q, k;
  std::int64_t q_offset;
};
std::vector<ContextPiece> context_pieces(std::int64_t T, int cp) {
  std::vector<ContextPiece> pieces;
  for (int rank = 0; rank < cp; ++rank) {
    for (int visitor = 0; visitor < cp; ++visitor) {
      const Places low = chunk_of(T, rank, cp), high = chunk_of(T, 2 * cp - 1 - rank, cp);
      const Places low_keys = chunk_of(T, visitor, cp), high_keys = chunk_of(T, 2 * cp - 1 - visitor, cp);
      if (visitor == rank) {
        pieces.push_back({low, low, 0});
        pieces.push_back({high, joined(low, high), static_cast<std::int64_t>(low.size())});
      } else if (visitor < rank) {
        pieces.push_back({joined(low, high), low_keys, T});
      } else {
        pieces.push_back({high, joined(low_keys, high_keys), T});
      }
    }
  }
  return pieces;
}

// How many keys of the piece stand before the beginning of each query's document.
at::Tensor first_keys(const ContextPiece& piece, const at::Tensor& begins_BT) {
  const at::Tensor begins = begins_BT.index_select(1, at::tensor(piece.q, at::kLong));
  return (at::tensor(piece.k, at::kLong).view({1, 1, -1}) < begins.unsqueeze(2)).sum(2);
}

TEST(FlashAttentionParity, EveryPieceOfAContext) {
  for (const int cp : {2, 3, 4}) {
    for (const std::int64_t T : {8, 13, 24}) {
      for (const ContextPiece& piece : context_pieces(T, cp)) {
        const CausalWindow w{static_cast<std::int64_t>(piece.q.size()), static_cast<std::int64_t>(piece.k.size()),
                             piece.q_offset, 0};
        expect_flash_parity(flash_test_input(2, w));
      }
    }
  }
}

TEST(FlashAttentionParity, EveryPieceOfAContextWithDocuments) {
  for (const int cp : {2, 3}) {
    for (const SequenceLengths& lengths : packed) {
      for (const ContextPiece& piece : context_pieces(13, cp)) {
        const CausalWindow w{static_cast<std::int64_t>(piece.q.size()), static_cast<std::int64_t>(piece.k.size()),
                             piece.q_offset, 0};
        if (w.T == 0 || w.S == 0) continue;
        AttentionInput input = flash_test_input(static_cast<std::int64_t>(lengths.size()), w);
        input.documents = bounds_of(first_keys(piece, begins_of(lengths)), w);
        expect_flash_parity(input);
      }
    }
  }
}

// The keys [begin, begin + count) of a call.
AttentionInput keys_of(const AttentionInput& whole, std::int64_t begin, std::int64_t count) {
  AttentionInput part = whole;
  part.k_BSkH = whole.k_BSkH.narrow(1, begin, count);
  part.v_BSkH = whole.v_BSkH.narrow(1, begin, count);
  part.k_offset = whole.k_offset + begin;
  return part;
}

// As the ranks of a ring do it, in which dout and the merged output are fp32 and parts of larger tensors.
void expect_merge_parity(const AttentionInput& whole, const std::vector<AttentionInput>& parts) {
  const at::ScalarType dtype = tensor::theirs(whole.q_BTnH).scalar_type();
  AttentionOutput got = flash_attention_forward(parts[0], plain_forward), want = reference::attention_forward(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    attention_merge(got, flash_attention_forward(parts[i], plain_forward));
    attention_merge(want, reference::attention_forward(parts[i]));
  }
  const AttentionOutput all = reference::attention_forward(whole);
  Parity(dtype, 2).compare("merged out", got.out_BTnH, all.out_BTnH);
  Parity().compare("merged lse", got.lse_BnT, all.lse_BnT);
  const auto strided = [](const at::Tensor& x) {
    return at::cat({x, x}, x.dim() - 2).narrow(x.dim() - 2, 0, x.size(-2));
  };
  const at::Tensor dout = random_normal("dout", tensor::theirs(want.out_BTnH.sizes()));
  const AttentionOutput merged{strided(want.out_BTnH), want.lse_BnT.transpose(1, 2).contiguous().transpose(1, 2)};
  for (const AttentionInput& part : parts) {
    expect_same_gradients(flash_attention_backward(strided(dout), part, merged, plain_backward),
                          reference::attention_backward(dout, part, want), dtype);
  }
}

TEST(FlashAttentionParity, PiecesMergeAndBackwardTakesTheMergedOutput) {
  for (const at::ScalarType dtype : dtypes) {
    for (const Heads& heads : all_heads) {
      SCOPED_TRACE(text(heads));
      AttentionInput whole = flash_test_input(2, {6, 14, 8, 0}, heads, dtype);
      expect_merge_parity(whole, {keys_of(whole, 8, 6), keys_of(whole, 0, 8)});
      whole = flash_test_input(2, {6, 14, 8, 0}, heads, dtype);
      const at::Tensor begins_BT = begins_of({{3, 7, 4}, {8, 1, 5}}).narrow(1, 8, 6);
      std::vector<AttentionInput> parts{keys_of(whole, 8, 6), keys_of(whole, 0, 8)};
      whole.documents.first_key_BT = begins_BT;
      parts[0].documents = bounds_of(begins_BT, {6, 6, 8, 8});
      parts[1].documents = bounds_of(begins_BT, {6, 8, 8, 0});
      expect_merge_parity(whole, parts);
    }
  }
}

TEST(FlashAttentionParity, WhatItDoesNotTake) {
  EXPECT_FALSE(flash_attention_takes(flash_test_input(1, {4, 4, 2, 0})));  // some see all keys, some do not
  EXPECT_FALSE(flash_attention_takes(flash_test_input(1, {4, 9, 2, 0})));  // nobody sees the last keys
  AttentionInput bounds_without_lengths = flash_test_input(1, {4, 4});
  bounds_without_lengths.documents.first_key_BT = at::zeros({1, 4}, at::kLong);
  EXPECT_FALSE(flash_attention_takes(bounds_without_lengths));
}

TEST(FlashAttentionParity, DocumentsAsLengths) {
  const auto expect = [](const Varlen& got, const std::vector<int>& q, const std::vector<int>& k, int max_q,
                         int max_k) {
    EXPECT_TRUE(at::equal(got.cu_seqlens_q, at::tensor(q, at::kInt)));
    EXPECT_TRUE(at::equal(got.cu_seqlens_k, at::tensor(k, at::kInt)));
    EXPECT_EQ(got.max_seqlen_q, max_q);
    EXPECT_EQ(got.max_seqlen_k, max_k);
  };
  expect(varlen_of(begins_of({{2, 1}, {3}}), {3, 3}), {0, 2, 3, 6}, {0, 2, 3, 6}, 3, 3);
  expect(varlen_of(begins_of({{1, 1}}), {2, 2}), {0, 1, 2}, {0, 1, 2}, 2, 1);
  // Keys before the first document, and an earlier piece of which the first document sees the end, the others nothing.
  expect(varlen_of(at::tensor({3, 3, 6}, at::kLong).unsqueeze(0), {3, 7, 4, 0}), {0, 0, 2, 3}, {0, 3, 6, 7}, 2, 3);
  expect(varlen_of(at::tensor({3, 3, 5, 5}, at::kLong).unsqueeze(0), {4, 5, 10, 0}), {0, 0, 2, 4}, {0, 3, 5, 5}, 2, 3);
}

TEST(FlashAttentionParity, DocumentsThatDoNotFitAreErrors) {
  const at::Tensor sliding = at::tensor({0, 0, 1, 2}, at::kLong).unsqueeze(0);
  EXPECT_THROW(varlen_of(sliding, {4, 4}), base::BugError);
  AttentionInput input = flash_test_input(2, {13, 13});
  input.documents = bounds_of(begins_of(packed[0]), {13, 13});  // of one sequence
  EXPECT_THROW(flash_attention_forward(input, plain_forward), base::BugError);
}

}  // namespace
}  // namespace troika::kernels
