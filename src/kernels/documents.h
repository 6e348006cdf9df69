// The documents of packed sequences as attention is told of them. Made on the host, once for all layers of a microbatch, so
// that no operation has to ask the device. Shapes: B sequences, T query positions, S key positions.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troika::kernels {

// The part of a causal mask that one call of attention covers.
struct CausalWindow {
  std::int64_t T = 0, S = 0;                // queries, keys
  std::int64_t q_offset = 0, k_offset = 0;  // positions of the first query and the first key
};

enum class Sight {
  nothing,     // no query sees a key, or there are none of either
  everything,  // every query sees every key
  diagonal,    // the last query sees all keys, and each before it one key less
  other,
};
Sight sight_of(const CausalWindow& window);

// Lengths in the manner of flash attention (varlen): document i is the queries [cu_seqlens_q[i], cu_seqlens_q[i + 1]) of
// the B * T rows and the keys [cu_seqlens_k[i], cu_seqlens_k[i + 1]) of the B * S rows. Every row is in one document. Queries
// that see no key are in documents without keys, keys that nobody sees in documents without queries.
struct Varlen {
  tensor::Tensor cu_seqlens_q, cu_seqlens_k;  // int32, [documents + 1]
  std::int64_t max_seqlen_q = 0;       // at least 2: with 1, libraries regroup heads and refuse documents without queries
  std::int64_t max_seqlen_k = 0;       // of documents without queries too, whose keys get their zero gradient
  std::int64_t queries = 0, keys = 0;  // B * T, B * S
  bool defined() const { return cu_seqlens_q.defined(); }
};

// first_key_BT: int64 on the host, the first key position that a query may see, alike within a document. Documents follow
// each other: BugError where two of them see the same key.
Varlen varlen_of(const tensor::Tensor& first_key_BT, const CausalWindow& window);

// The same for one call of attention, on its device. Undefined tensors: no bounds but the causal mask.
struct DocumentBounds {
  tensor::Tensor first_key_BT;  // int64
  Varlen varlen;            // undefined on the CPU and where sight is `other`
};
// Queues the copies to the device and does not wait for them.
DocumentBounds document_bounds(const tensor::Tensor& first_key_BT, const CausalWindow& window, const tensor::Device& device);

}  // namespace troika::kernels
