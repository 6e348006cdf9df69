#include "cuda/dropout.h"
#include "cuda/dropout_dispatch.h"
#include "cuda/launch.cuh"

namespace troika::cuda {

void dropout(const DropoutRows& rows, const DropoutDraw& draw, const std::int64_t* positions, const void* x, void* y,
             const Stream& stream) {
  dispatch::dropout(OnStream{stream}, rows, draw, positions, x, y);
}

}  // namespace troika::cuda
