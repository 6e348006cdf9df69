// Attention by functions that compute as a library's flash attention does: what lies around such a call, which is which keys a
// piece of a context sees, documents as varlen, maps of heads, and the log-sum-exp. The functions are parameters, so that
// this can be tested where there is no GPU. Contracts of attention: kernels/attention.h. T. Dao, "FlashAttention-2", 2023.
// Shapes: B sequences, T query positions, S key positions, n query heads, k key/value heads, H head width.
#pragma once

#include <functional>

#include "kernels/attention.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// Of each sequence or document with q queries and k keys: all keys are seen, or by the last query all, by each before it one
// key less (aligned at the bottom right).
enum class FlashMask { full, causal };

// Dense: q [B, T, n, H], k and v [B, S, k, H]. Varlen: q [queries, n, H], k and v [keys, k, H]. Strided, the last dim
// contiguous. Query head i reads key/value head i / (n / k).
struct FlashInput {
  tensor::Tensor q, k, v;
  Varlen varlen;  // undefined: dense
  FlashMask mask = FlashMask::full;
  double scale = 1;  // of the scores
};
struct FlashOutput {
  tensor::Tensor out;  // as q; 0 for a query that sees no key. Rows behind the last document are not written
  tensor::Tensor lse;  // natural log, [B, n, T] or [n, queries], contiguous; +inf for a query that sees no key
};
struct FlashGradients {
  tensor::Tensor dq, dk, dv;  // as q, k, v
};
using FlashForward = std::function<FlashOutput(const FlashInput& input)>;
// dout and output.out have q's dtype and are contiguous; `output` may be that of more keys.
using FlashBackward =
    std::function<FlashGradients(const tensor::Tensor& dout, const FlashInput& input, const FlashOutput& output)>;

// Whether the two functions below compute this: all windows but `other`, documents where they have a Varlen.
bool flash_attention_takes(const AttentionInput& input);

AttentionOutput flash_attention_forward(const AttentionInput& input, const FlashForward& forward);
// dout and output.out are rounded to q's dtype. Where heads are not read in equal groups, k and v are copied for every query
// head, and their gradients add up in fp32 in the order of heads.
AttentionGradients flash_attention_backward(const tensor::Tensor& dout_BTnH, const AttentionInput& input,
                                            const AttentionOutput& output, const FlashBackward& backward);

}  // namespace troika::kernels
