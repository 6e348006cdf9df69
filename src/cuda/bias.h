// The gradient of a bias, the sum over rows of a matrix on the device; work is queued on the stream. The result does
// not depend on the device: rows are cut by shape, and sums have one order.
#pragma once

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/stream.h"

namespace troika::cuda {

struct BiasRows {
  Dtype dtype = Dtype::fp32;
  std::int64_t M = 0, O = 0;
};

// Elements of fp32 that it needs as memory until its work is done.
std::int64_t linear_backward_bias_floats(const BiasRows& rows);
// dy: M x O, contiguous, of the dtype. Writes dbias, O, fp32.
void linear_backward_bias(const BiasRows& rows, const void* dy, float* dbias, float* workspace, const Stream& stream);

}  // namespace troika::cuda
