// Which kernels run for dropout.h.
#pragma once

#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/dropout.h"
#include "cuda/dropout_kernels.h"

namespace troika::cuda::dispatch {

// x, y: B T x I, contiguous, may be the same.
template <class Run>
void dropout(const Run& run, const DropoutRows& rows, const DropoutDraw& draw, const void* x, void* y) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    run(Dropout<T>{rows, draw, static_cast<const T*>(x), static_cast<T*>(y)});
  });
}

}  // namespace troika::cuda::dispatch
