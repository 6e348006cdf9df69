// Rows of logits on the device: log-sum-exp and its gradient; contracts in kernels/cross_entropy.h.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"

namespace troika::cuda {

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// For each row: its log-sum-exp, its target column, and how much its loss counts.
struct RowTargets {
  const float* lse = nullptr;
  const std::int64_t* column = nullptr;
  const float* weight = nullptr;
};

}  // namespace troika::cuda
