// Rows of a table by id on the device; meaning as in kernels/embedding.h. The table may be a part of the vocabulary: it
// has the rows [first_row, first_row + v). Activations and the table have the dtype of the call. Work is queued on the
// stream.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/stream.h"

namespace troika::cuda {

struct EmbeddingTable {
  Dtype dtype = Dtype::fp32;
  std::int64_t first_row = 0, v = 0, D = 0;
};

// x: M x D. Ids outside the part give zero rows.
void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const void* weights,
                       void* x, const Stream& stream);

// The tokens of a batch by id: the caller sorts them, stably (a stable sort on the device; the ids of a
// batch are known before its forward). sorted[i] is the id of row order[i] of dx, ascending; equal ids in ascending
// order of rows.
struct TokensById {
  const std::int64_t *sorted = nullptr, *order = nullptr;  // M each
};

// Elements of int64 that a backward needs as memory until its work is done.
std::int64_t embedding_backward_integers(const EmbeddingTable& table);
// Writes dtable (v x D, fp32): the sums of the rows of dx (M x D) that name a row, in ascending order in fp32, without
// atomics; zeros where none does. Ids outside the part are ignored.
void embedding_backward_weight(const EmbeddingTable& table, std::int64_t M, const TokensById& tokens, const void* dx,
                               float* dtable, std::int64_t* workspace, const Stream& stream);

}  // namespace troika::cuda
