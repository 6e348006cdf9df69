// The operations between the products of attention on the device; contracts in kernels/attention.h.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

// Scores of a chunk of T queries of one sequence with its first S keys, in fp32. Row r is of the head r / T of `heads`, and of
// the query r % T; rows stand `stride` elements apart. Statistics of (head, query) are at head * statistics_stride + query.
struct ScoreRows {
  std::int64_t heads = 0, T = 0, S = 0, stride = 0, statistics_stride = 0;
  std::int64_t first_query = 0;              // its position less that of the first key
  const std::int64_t* first_key = nullptr;  // T positions on the device, from where on a query sees keys; may be null
  std::int64_t k_offset = 0;                 // the position of the first key
  float scale = 1;                           // of the scores
};

// [B, T, n, H] beside statistics [B, n, T].
struct HeadRows {
  std::int64_t B = 0, T = 0, n = 0, H = 0;
};

}  // namespace troika::cuda
