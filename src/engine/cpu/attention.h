// Causal grouped-query attention in blocks, without a T x S tensor: T. Dao, "FlashAttention-2", 2023. Heads may differ in
// dtype. Where all that is multiplied is bf16, H is even and multiplies_halves() (gemm.h), the products are those of
// halves, summed in fp32, the weights rounded to halves for them, by matrix units where the processor has them (tile_units.h) and H is a
// multiple of 32; else all is computed in fp32. Gradients are fp32,
// because they add up in memory. The results of a part do not depend on the other parts. Heads that share a key/value head add to its
// gradients in ascending order, again for every 256 queries.
//
// Memory beyond the results, with H rounded up to whole vectors: forward at most 64 (10 H + 64) floats per thread;
// backward at most 64 (21 H + 192) floats per thread, and n M floats.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/arrays.h"

namespace troika::cpu {

// Rows of queries and rows of keys that see each other: query q_begin + t sees key k_begin + s if s <= t + reach, and, in a window,
// s > t + reach - window.
struct AttentionPart {
  std::int64_t q_begin = 0, T = 0, k_begin = 0, S = 0, reach = 0;
};

// M rows of queries, N of keys. A row of either is in one part at most; of rows in none the results are 0, the lse -inf.
struct Attention {
  std::int64_t M = 0, N = 0, n = 0, k = 0, H = 0;
  const std::int64_t* kv_of_head = nullptr;  // n
  std::vector<AttentionPart> parts;
  double scale = 1;         // of the scores
  std::int64_t window = 0;  // 0: none
};

// lse: n x M.
void attention_forward(const Attention& op, const Heads& q, const Heads& k, const Heads& v, const MutableHeads& out,
                       float* lse);

struct AttentionResult {
  Heads out, dout;
  const float* lse = nullptr;
};
// Writes all of dq, dk, dv. They must not overlap the inputs.
void attention_backward(const Attention& op, const Heads& q, const Heads& k, const Heads& v,
                        const AttentionResult& result, const MutableFloatHeads& dq, const MutableFloatHeads& dk,
                        const MutableFloatHeads& dv);

// Attention of one new query per sequence over all its keys, which is what decoding computes: bound by reading keys and
// values. fp32. A sequence's results do not depend on the others, nor on the number of threads.
// Shapes: B sequences, n query heads, k key/value heads (n is a multiple of k; n / k neighbours read one), H head width, S
// keys of a sequence.
struct RowAttention {
  std::int64_t n = 0, k = 0, H = 0;
  double scale = 1;  // of the scores
};

struct CachedSequence {
  std::int64_t S = 0;  // at least 1
  FloatHeads k, v;     // S x k x H; batch_stride is not read
};

// q and out: B x n x H, dense. `out` must not overlap the inputs. Memory: S n / k floats per thread.
void attend_rows(const RowAttention& op, const std::vector<CachedSequence>& sequences, const float* q_BnH,
                 float* out_BnH);

}  // namespace troika::cpu
