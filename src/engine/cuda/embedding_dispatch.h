// Which kernels run for the embedding (kernels/vocabulary.h).
#pragma once

#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/embedding_kernels.h"

namespace troika::cuda::dispatch {

// x: M x D. Ids outside the part give zero rows.
template <class Run>
void embedding_forward(const Run& run, const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids,
                       const void* weights, void* x) {
  with_number(table.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({weights, x}, {table.D}, [&](auto n) {
      run(EmbeddingForward<T, n()>{ids, static_cast<const T*>(weights), static_cast<T*>(x), M, table.first_row, table.v,
                                   table.D});
    });
  });
}

// sorted, order: M each (TokensById). M^2 comparisons, which for 16384 tokens are a third of a millisecond of an H100.
template <class Run>
void sort_tokens(const Run& run, std::int64_t M, const std::int64_t* ids, std::int64_t* sorted, std::int64_t* order) {
  run(SortTokens{ids, sorted, order, M});
}

// Elements of int64 that a backward needs as memory until its work is done.
inline std::int64_t embedding_backward_integers(const EmbeddingTable& table) { return table.v + 1; }

// Writes dtable (v x D, fp32): the sums of the rows of dx (M x D) that name a row, in ascending order in fp32, without
// atomics; zeros where none does. Ids outside the part are ignored.
template <class Run>
void embedding_backward_weight(const Run& run, const EmbeddingTable& table, std::int64_t M, const TokensById& tokens,
                               const void* dx, float* dtable, std::int64_t* workspace) {
  run(EmbeddingBegins{tokens.sorted, workspace, M, table.first_row, table.v});
  with_number(table.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({dx, dtable}, {table.D}, [&](auto n) {
      run(EmbeddingBackward<T, n()>{workspace, tokens.order, static_cast<const T*>(dx), dtable, table.v, table.D});
    });
  });
}

}  // namespace troika::cuda::dispatch
