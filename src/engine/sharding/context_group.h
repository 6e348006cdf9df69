// Attention over a sequence whose positions are split over the ranks of a context-parallel group: keys and values move
// round the ring while each rank's queries stay. H. Liu et al., "Ring Attention with Blockwise Transformers", 2023; the
// sequence is cut into 2 cp chunks [T i / (2 cp), T (i + 1) / (2 cp)) and rank r holds chunks r and 2 cp - 1 - r, in
// this order, which gives every rank the same share of a causal mask. Any T works; chunks may be empty.
//
// All ranks of the group make the same calls in the same order with the same B, T and widths; calls block until the
// messages are in. Additions have a fixed order.
// Shapes: B sequences, T positions of the whole sequence, t of this rank, n query heads, k key/value heads, H head width.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/channel.h"
#include "kernels/attention.h"
#include "sharding/on_wait.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// Documents that are apart, as this rank's calls of attention are told of them: by the rank whose keys are visiting, then by
// the pairs of chunks that see each other. Nothing where documents end before the queries' chunk begins.
struct LocalDocuments {
  std::vector<std::vector<std::optional<kernels::DocumentBounds>>> of_visitor;
};

// This rank's queries, keys and values; may be strided views, last dim contiguous. fp32, bf16 or fp16.
struct LocalAttention {
  tensor::Tensor q_BtnH, k_BtkH, v_BtkH;
  std::vector<std::int64_t> kv_of_head;             // size n: which key/value head a query head reads
  std::shared_ptr<const LocalDocuments> documents;  // null: joined
};

// Threads: one rank's thread.
class ContextGroup : public PeerGroup {
 public:
  ContextGroup() = default;                       // alone
  explicit ContextGroup(comm::Channel& channel) : PeerGroup(channel) {}  // `channel` must outlive it

  // Why a device would compute this rank's calls by products in chunks: each reason once. Asked of sizes, types and places alone, and
  // sends nothing.
  std::vector<base::Text> why_products(const LocalAttention& local, std::int64_t T) const;

  // This rank's positions of a sequence of T, ascending; t of them.
  std::vector<std::int64_t> positions(std::int64_t T) const;

  // first_key_Bt: int64, on the host: the position of the whole sequence at which the document of each of this rank's
  // positions begins. For tensors on `device`. Sends nothing.
  std::shared_ptr<const LocalDocuments> documents(const tensor::Tensor& first_key_Bt, std::int64_t T,
                                                  const tensor::Device& device) const;

  // Causal attention over the whole sequence. Alone: one attention_forward. Only pairs of chunks that see each other are
  // computed, which changes no message; parts are merged by their log-sum-exp in fp32 and the result has q's dtype,
  // lse fp32.
  kernels::AttentionOutput attend(const LocalAttention& local, std::int64_t T) const;
  // Gradients of this rank's q, k, v, each in its dtype; dk and dv travel with their keys and return home, summed in fp32.
  kernels::AttentionGradients attend_backward(const tensor::Tensor& dout_BtnH, const LocalAttention& local,
                                              const kernels::AttentionOutput& output, std::int64_t T) const;
};

}  // namespace troika::sharding
