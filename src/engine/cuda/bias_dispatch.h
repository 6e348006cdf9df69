// The kernels that run for the gradient of a bias, the sum over rows of a matrix on the device. The result does not depend on the
// device: rows are cut by shape, and sums have one order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/row_sums_kernels.h"

namespace troika::cuda::dispatch {

// How many shares the rows have: at least 32 rows in each, and in all about eight blocks of 256 columns for each
// multiprocessor of an H100 or H200.
inline std::int64_t bias_shares(const Rows& rows) {
  const std::int64_t tiles = blocks_for(rows.D, 256);
  return std::max<std::int64_t>(1, std::min((rows.M + 31) / 32, 1056 / std::max<std::int64_t>(tiles, 1)));
}
// Elements of fp32 that it needs as memory until its work is done.
inline std::int64_t linear_backward_bias_floats(const Rows& rows) { return bias_shares(rows) * rows.D; }

// dy: M x D, contiguous, of the dtype. Writes dbias, D, fp32.
template <class Run>
void linear_backward_bias(const Run& run, const Rows& rows, const void* dy, float* dbias, float* workspace) {
  const std::int64_t shares = bias_shares(rows);
  with_vectors(rows.dtype, {dy}, {rows.D}, [&](auto type, auto n) {
    using T = decltype(type);
    run(SumRowsOfShares<T, n()>{static_cast<const T*>(dy), workspace, rows.M, rows.D, shares});
  });
  run(SumRows{workspace, dbias, shares, rows.D});
}

}  // namespace troika::cuda::dispatch
