#include "cuda/cross_entropy.h"
#include "cuda/cross_entropy_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void log_sum_exp(const LogitRows& rows, const float* x, float* lse, const Stream& stream) {
  dispatch::log_sum_exp(OnStream{stream}, rows, x, lse);
}

void cross_entropy_gradient(const LogitRows& rows, float* x, const float* lse, const std::int64_t* column,
                            const float* weight, const Stream& stream) {
  dispatch::cross_entropy_gradient(OnStream{stream}, rows, x, lse, column, weight);
}

}  // namespace troika::cuda
