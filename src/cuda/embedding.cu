#include "cuda/embedding.h"
#include "cuda/embedding_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const void* weights,
                       void* x, const Stream& stream) {
  dispatch::embedding_forward(OnStream{stream}, table, M, ids, weights, x);
}

std::int64_t embedding_backward_integers(const EmbeddingTable& table) {
  return dispatch::embedding_backward_integers(table);
}

void embedding_backward_weight(const EmbeddingTable& table, std::int64_t M, const TokensById& tokens, const void* dx,
                               float* dtable, std::int64_t* workspace, const Stream& stream) {
  dispatch::embedding_backward_weight(OnStream{stream}, table, M, tokens, dx, dtable, workspace);
}

}  // namespace troika::cuda
