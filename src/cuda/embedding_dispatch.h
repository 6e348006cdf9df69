// Which kernels embedding.h runs.
#pragma once

#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/embedding.h"
#include "cuda/embedding_kernels.h"

namespace troika::cuda::dispatch {

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

inline std::int64_t embedding_backward_integers(const EmbeddingTable& table) { return table.v + 1; }

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
