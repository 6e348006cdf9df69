// Causal attention with an explicit key/value head per query head, over sequences of one length or over parts of rows of any length;
// returns the log-sum-exp so that pieces of a context can be combined. T. Dao, "FlashAttention-2", 2023, for the backward from lse.
// Shapes: B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
// Dtypes as in cpu_operands.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/language.h"
#include "shape/region.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// The part of a causal mask that one call of attention covers.
struct CausalWindow {
  std::int64_t T = 0, S = 0;                // queries, keys
  std::int64_t q_offset = 0, k_offset = 0;  // positions of the first query and the first key
  std::int64_t window = 0;                  // ScoreRule::window
};

enum class Sight {
  nothing,     // no query sees a key, or there are none of either
  everything,  // every query sees every key
  diagonal,    // the last query sees all keys, and each before it one key less
  other,
};
Sight sight_of(const CausalWindow& window);

// Rows of queries and rows of keys that see each other: row q.begin + i sees row k.begin + j if j <= i + reach, and, in a window,
// j > i + reach - window.
struct AttentionPart {
  shape::Range q, k;
  std::int64_t reach = 0;
};

// B sequences of T rows, each causally by itself.
std::vector<AttentionPart> equal_parts(std::int64_t B, std::int64_t T);

// Scores from products of queries and keys, and how far back a query sees.
struct ScoreRule {
  double scale = 0;         // of the products; 0: 1 / sqrt(H)
  std::int64_t window = 0;  // a query sees its own position and the window - 1 before it; 0: all before it
  double scale_for(std::int64_t H) const { return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(H)); }
};

struct AttentionInput {
  tensor::Tensor q_BTnH, k_BSkH, v_BSkH;     // may be strided views, last dim contiguous
  std::vector<std::int64_t> kv_of_head;  // size n: which key/value head a query head reads
  std::int64_t q_offset = 0;  // position of q[:, 0] and of k[:, 0]; query t sees keys with position <= its own
  std::int64_t k_offset = 0;
  // Of B = 1, in place of the offsets: what sees each other. A row of queries, or of keys, is in one part at most; in none it has
  // seen nothing, or was not seen.
  std::vector<AttentionPart> parts;
  ScoreRule rule = {};
};

struct AttentionOutput {
  tensor::Tensor out_BTnH;  // contiguous, in q's dtype; a query that sees no key gives 0
  tensor::Tensor lse_BnT;   // fp32: log of the sum of exp(score); -inf where no key is seen
};
AttentionOutput attention_forward(const AttentionInput& input);

// Why a device computes it by products in chunks, of sizes, types and places alone; empty: its library does, or it is a CPU's.
base::Text why_products(const AttentionInput& input);

// The same queries over two disjoint sets of keys: `sum` becomes the attention over both, its out fp32 from then on.
// Either may have seen nothing.
void attention_merge(AttentionOutput& sum, const AttentionOutput& part);

struct AttentionGradients {
  tensor::Tensor dq_BTnH, dk_BSkH, dv_BSkH;  // contiguous, each in the dtype of its input
};
// `output` may be merged, of more keys than `input` holds: then these are the gradients of input's keys and values, and
// these keys' contribution to dq. dout and out may be fp32 beside halves.
AttentionGradients attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output);

// Attention of one new query per sequence over its keys, of which the last is the query's own; each sequence has keys and values of its
// own.
// Shapes: B sequences, n query heads, k key/value heads (neighbouring query heads read one), H head width, S keys.
struct KeysAndValues {
  tensor::Tensor k_SkH, v_SkH;  // may be strided views, last dim contiguous
};

// q_BnH dense. All in one dtype; returns out_BnH in it. On the CPU a sequence's bits do not depend on the others.
tensor::Tensor row_attention(const tensor::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences, const ScoreRule& rule = {});

}  // namespace troika::kernels
