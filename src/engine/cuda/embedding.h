// Rows of a table by id on the device; meaning as in kernels/embedding.h. The table may be a part of the vocabulary: it
// has the rows [first_row, first_row + v). Activations and the table have the dtype of the call.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

struct EmbeddingTable {
  Dtype dtype = Dtype::fp32;
  std::int64_t first_row = 0, v = 0, D = 0;
};

// The tokens of a batch by id. sorted[i] is the id of row order[i] of dx, ascending; equal ids in ascending order of rows.
struct TokensById {
  const std::int64_t *sorted = nullptr, *order = nullptr;  // M each
};

}  // namespace troika::cuda
