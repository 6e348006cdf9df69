// Which kernels run for bias.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/bias.h"
#include "cuda/dispatch.h"
#include "cuda/row_sums_kernels.h"

namespace troika::cuda::dispatch {

// How many shares the rows have: at least 32 rows in each, and in all about eight blocks of 256 columns for each
// multiprocessor of an H100 or H200.
inline std::int64_t bias_shares(const BiasRows& rows) {
  const std::int64_t tiles = blocks_for(rows.O, 256);
  return std::max<std::int64_t>(1, std::min((rows.M + 31) / 32, 1056 / std::max<std::int64_t>(tiles, 1)));
}
// Elements of fp32 that it needs as memory until its work is done.
inline std::int64_t linear_backward_bias_floats(const BiasRows& rows) { return bias_shares(rows) * rows.O; }

// dy: M x O, contiguous, of the dtype. Writes dbias, O, fp32.
template <class Run>
void linear_backward_bias(const Run& run, const BiasRows& rows, const void* dy, float* dbias, float* workspace) {
  const std::int64_t shares = bias_shares(rows);
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({dy}, {rows.O}, [&](auto n) {
      run(SumRowsOfShares<T, n()>{static_cast<const T*>(dy), workspace, rows.M, rows.O, shares});
    });
  });
  run(SumRows{workspace, dbias, shares, rows.O});
}

}  // namespace troika::cuda::dispatch
