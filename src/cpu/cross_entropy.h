// Rows of logits: log-sum-exp and its gradient. fp32, rows contiguous.
#pragma once

#include <cstdint>

namespace troika::cpu {

// lse[i] = log sum_j exp(x[i * v + j]); -inf for rows of -inf.
void log_sum_exp_rows(std::int64_t M, std::int64_t v, const float* x, float* lse);

// x[i][j] = scale[i] * (exp(x[i][j] - lse[i]) - [j == target[i]]), in place. A target outside [0, v) is in no column.
void cross_entropy_gradient_rows(std::int64_t M, std::int64_t v, float* x, const float* lse, const std::int64_t* target,
                                 const float* scale);

}  // namespace troika::cpu
