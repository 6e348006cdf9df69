// Rows of logits on the device: log-sum-exp and its gradient; contracts in kernels/cross_entropy.h. fp32.
#pragma once

#include <cstdint>


namespace troika::cuda {

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

}  // namespace troika::cuda
