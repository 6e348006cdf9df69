// Which kernels run for dropout.h.
#pragma once

#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/dropout.h"
#include "cuda/dropout_kernels.h"

namespace troika::cuda::dispatch {

// positions: T; x, y: B T x I, contiguous, may be the same; all on the device.
template <class Run>
void dropout(const Run& run, const DropoutRows& rows, const DropoutDraw& draw, const std::int64_t* positions,
             const void* x, void* y) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    run(Dropout<T>{rows, draw, positions, static_cast<const T*>(x), static_cast<T*>(y)});
  });
}

}  // namespace troika::cuda::dispatch
