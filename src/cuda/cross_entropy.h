// Rows of logits on the device: log-sum-exp and its gradient; contracts in kernels/cross_entropy.h. fp32. Work is
// queued on the stream.
#pragma once

#include <cstdint>

#include "cuda/stream.h"

namespace troika::cuda {

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// lse[i] = log sum_j exp(x[i][j]); -inf for a row of -inf, and no number or infinity where a logit is. Reads a row
// once: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
void log_sum_exp(const LogitRows& rows, const float* x, float* lse, const Stream& stream);

// x[i][j] = weight[i] * (exp(x[i][j] - lse[i]) - [j == column[i]]), in place. A column outside [0, v) is none.
void cross_entropy_gradient(const LogitRows& rows, float* x, const float* lse, const std::int64_t* column,
                            const float* weight, const Stream& stream);

}  // namespace troika::cuda
