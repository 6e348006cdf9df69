// Rows of a table by id; meaning as in kernels/embedding.h. Gradients of the table are fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/dtype.h"

namespace troika::cpu {

struct EmbeddingTable {
  std::int64_t first_row = 0, v = 0, D = 0;
  Dtype dtype = Dtype::fp32;  // of weights, x and dx
};

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const void* weights,
                       void* x);

// Which rows of the table some ids name: row[i], ascending, is named by order[begin[i]] ... order[begin[i + 1] - 1], ascending.
struct NamedRows {
  std::vector<std::int64_t> row, begin{0}, order;
};
NamedRows named_rows(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids);

// gradient: a row of D for each of rows.row, the sum of the rows of dx in their order.
void embedding_backward(const NamedRows& rows, const EmbeddingTable& table, const void* dx, float* gradient);

}  // namespace troika::cpu
