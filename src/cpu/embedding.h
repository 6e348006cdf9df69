// Rows of a table by id; meaning as in kernels/embedding.h. fp32.
#pragma once

#include <cstdint>

namespace troika::cpu {

struct EmbeddingTable {
  std::int64_t first_row = 0, v = 0, D = 0;
};

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const float* weights,
                       float* x);
void embedding_backward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const float* dx,
                        float* dtable);

}  // namespace troika::cpu
