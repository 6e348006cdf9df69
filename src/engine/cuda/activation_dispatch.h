// Which kernels run for activation.h.
#pragma once

#include <cstdint>

#include "cuda/activation.h"
#include "cuda/activation_kernels.h"
#include "cuda/dispatch.h"

namespace troika::cuda::dispatch {

// gate_up: M x 2F, gate first; h: M x F.
template <class Run>
void swiglu_forward(const Run& run, const ActivationRows& rows, const void* gate_up, void* h) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({gate_up, h}, {rows.F}, [&](auto n) {
      run(SwigluForward<T, n()>{static_cast<const T*>(gate_up), static_cast<T*>(h), rows.M, rows.F});
    });
  });
}

// Rows of dgate_up (2F) begin `stride` elements apart. It may be gate_up itself.
template <class Run>
void swiglu_backward(const Run& run, const ActivationRows& rows, const void* dh, const void* gate_up, void* dgate_up,
                     std::int64_t stride) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({dh, gate_up, dgate_up}, {rows.F, stride}, [&](auto n) {
      run(SwigluBackward<T, n()>{static_cast<const T*>(dh), static_cast<const T*>(gate_up), static_cast<T*>(dgate_up),
                                 rows.M, rows.F, stride});
    });
  });
}

// x, y: M x F; y may be x.
template <class Run>
void gelu_forward(const Run& run, const ActivationRows& rows, const void* x, void* y) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({x, y}, {rows.F}, [&](auto n) {
      run(GeluForward<T, n()>{static_cast<const T*>(x), static_cast<T*>(y), rows.M, rows.F});
    });
  });
}

// dy, x: M x F. Rows of dx begin `stride` elements apart. It may be dy or x itself.
template <class Run>
void gelu_backward(const Run& run, const ActivationRows& rows, const void* dy, const void* x, void* dx,
                   std::int64_t stride) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({dy, x, dx}, {rows.F, stride}, [&](auto n) {
      run(GeluBackward<T, n()>{static_cast<const T*>(dy), static_cast<const T*>(x), static_cast<T*>(dx), rows.M, rows.F,
                               stride});
    });
  });
}

}  // namespace troika::cuda::dispatch
