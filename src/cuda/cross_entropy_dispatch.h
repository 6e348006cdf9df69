// Which kernels run for cross_entropy.h.
#pragma once

#include "cuda/cross_entropy.h"
#include "cuda/cross_entropy_kernels.h"
#include "cuda/dispatch.h"

namespace troika::cuda::dispatch {

// lse[i] = log sum_j exp(x[i][j]); -inf for a row of -inf, and no number or infinity where a logit is. Reads a row
// once: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.
template <class Run>
void log_sum_exp(const Run& run, const LogitRows& rows, const float* x, float* lse) {
  with_width<float>({x}, {rows.stride}, [&](auto n) { run(LogSumExp<n()>{x, lse, rows.M, rows.v, rows.stride}); });
}

// x[i][j] = weight[i] * (exp(x[i][j] - lse[i]) - [j == column[i]]), in place. A column outside [0, v) is none.
template <class Run>
void cross_entropy_gradient(const Run& run, const LogitRows& rows, float* x, const float* lse,
                            const std::int64_t* column, const float* weight) {
  with_width<float>({x}, {rows.stride}, [&](auto n) {
    run(CrossEntropyGradient<n()>{x, lse, column, weight, rows.M, rows.v, rows.stride});
  });
}

}  // namespace troika::cuda::dispatch
