// Rows of logits: log-sum-exp and its gradient, computed in fp32.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

// M rows of v logits; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// lse[i] = log sum_j exp(x[i][j]); -inf for rows of -inf.
void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse);

// The same; and kept[i][j] = x[i][j] - lse[i]. Rows of `kept` are dense.
void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse, Bf16* kept);

// The gradient of sum_i scale[i] * (lse[i] - x[i][target[i]]), scale[i] * (exp(x[i][j] - lse[i]) - [j == target[i]]), in place
// of the logits: in fp32 in place of fp32 or, a row in the first half of its row, in bf16; in bf16 in place of bf16. A target
// outside [0, v) is in no column.
struct LogitDtypes {
  Dtype logits = Dtype::fp32, gradient = Dtype::fp32;
};
void cross_entropy_gradient_rows(const LogitRows& rows, const LogitDtypes& dtypes, void* x, const float* lse,
                                 const std::int64_t* target, const float* scale);

}  // namespace troika::cpu
