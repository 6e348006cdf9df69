#include "cuda/bias.h"
#include "cuda/bias_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

std::int64_t linear_backward_bias_floats(const BiasRows& rows) { return dispatch::linear_backward_bias_floats(rows); }

void linear_backward_bias(const BiasRows& rows, const void* dy, float* dbias, float* workspace, const Stream& stream) {
  dispatch::linear_backward_bias(OnStream{stream}, rows, dy, dbias, workspace);
}

}  // namespace troika::cuda
