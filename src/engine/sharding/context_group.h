// Attention over sequences whose positions are split over the ranks of a context-parallel group: keys and values move
// round the ring while each rank's queries stay. H. Liu et al., "Ring Attention with Blockwise Transformers", 2023; each
// sequence is cut into 2 cp chunks [T i / (2 cp), T (i + 1) / (2 cp)) and rank r holds chunks r and 2 cp - 1 - r, in
// this order, which gives every rank the same share of a causal mask. Any length works; chunks may be empty. A rank's rows are those
// of the first sequence, then of the next (shape/sequences.h).
//
// All ranks of the group make the same calls in the same order with the same sequences and widths; calls block until the
// messages are in. Additions have a fixed order.
// Shapes: t rows of this rank, n query heads, k key/value heads, H head width.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/channel.h"
#include "kernels/attention.h"
#include "shape/sequences.h"
#include "sharding/on_wait.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// This rank's queries, keys and values; may be strided views, last dim contiguous. fp32, bf16 or fp16.
struct LocalAttention {
  tensor::Tensor q_1tnH, k_1tkH, v_1tkH;
  std::vector<std::int64_t> kv_of_head;  // size n: which key/value head a query head reads
  kernels::ScoreRule rule = {};
};

using Sequences = std::vector<shape::Sequence>;

// Threads: one rank's thread.
class ContextGroup : public PeerGroup {
 public:
  ContextGroup() = default;                       // alone
  explicit ContextGroup(comm::Channel& channel) : PeerGroup(channel) {}  // `channel` must outlive it

  // Why a device would compute this rank's calls by products in chunks: each reason once. Asked of sizes, types and places alone, and
  // sends nothing.
  std::vector<base::Text> why_products(const LocalAttention& local, const Sequences& sequences) const;

  // The index of each of this rank's rows among the positions of all sequences, end to end; t of them.
  std::vector<std::int64_t> own_rows(const Sequences& sequences) const;

  // Causal attention within each sequence; rows behind them give 0. Alone: one attention_forward. Only pairs of chunks that see each
  // other are computed, which changes no message; parts are merged by their log-sum-exp in fp32 and the result has q's dtype,
  // lse fp32.
  kernels::AttentionOutput attend(const LocalAttention& local, const Sequences& sequences) const;
  // Gradients of this rank's q, k, v, each in its dtype; dk and dv travel with their keys and return home, summed in fp32.
  kernels::AttentionGradients attend_backward(const tensor::Tensor& dout_1tnH, const LocalAttention& local,
                                              const kernels::AttentionOutput& output, const Sequences& sequences) const;
};

}  // namespace troika::sharding
