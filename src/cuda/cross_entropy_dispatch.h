// Which kernels cross_entropy.h runs.
#pragma once

#include "cuda/cross_entropy.h"
#include "cuda/cross_entropy_kernels.h"
#include "cuda/dispatch.h"

namespace troika::cuda::dispatch {

template <class Run>
void log_sum_exp(const Run& run, const LogitRows& rows, const float* x, float* lse) {
  with_width<float>({x}, {rows.stride}, [&](auto n) { run(LogSumExp<n()>{x, lse, rows.M, rows.v, rows.stride}); });
}

template <class Run>
void cross_entropy_gradient(const Run& run, const LogitRows& rows, float* x, const float* lse,
                            const std::int64_t* column, const float* weight) {
  with_width<float>({x}, {rows.stride}, [&](auto n) {
    run(CrossEntropyGradient<n()>{x, lse, column, weight, rows.M, rows.v, rows.stride});
  });
}

}  // namespace troika::cuda::dispatch
