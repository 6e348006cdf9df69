// Rows of logits: log-sum-exp and its gradient. fp32.
#pragma once

#include <cstdint>

namespace troika::cpu {

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// lse[i] = log sum_j exp(x[i][j]); -inf for rows of -inf.
void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse);

// x[i][j] = scale[i] * (exp(x[i][j] - lse[i]) - [j == target[i]]), in place. A target outside [0, v) is in no column.
void cross_entropy_gradient_rows(const LogitRows& rows, float* x, const float* lse, const std::int64_t* target,
                                 const float* scale);

}  // namespace troika::cpu
