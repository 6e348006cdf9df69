// The kernels that run for activations and dropout (kernels/rows.h). Arrays are on the device and of the call's dtype.
#pragma once

#include <cstdint>

#include "cuda/activation_kernels.h"
#include "cuda/dispatch.h"
#include "cuda/dropout_kernels.h"

namespace troika::cuda::dispatch {

// gate_up: M x 2D, gate first; h: M x D.
template <class Run>
void gated_forward(const Run& run, Gate gate, const Rows& rows, const void* gate_up, void* h) {
  with_vectors(rows.dtype, {gate_up, h}, {rows.D}, [&](auto type, auto n) {
    using T = decltype(type);
    const auto *from = static_cast<const T*>(gate_up);
    auto* to = static_cast<T*>(h);
    gate == Gate::silu ? run(GatedForward<Silu, T, n()>{from, to, rows.M, rows.D}) : run(GatedForward<Gelu, T, n()>{from, to, rows.M, rows.D});
  });
}

// Rows of dgate_up (2D) begin `stride` elements apart. It may be gate_up itself.
template <class Run>
void gated_backward(const Run& run, Gate gate, const Rows& rows, const void* dh, const void* gate_up, void* dgate_up,
                     std::int64_t stride) {
  with_vectors(rows.dtype, {dh, gate_up, dgate_up}, {rows.D, stride}, [&](auto type, auto n) {
    using T = decltype(type);
    const auto *gradient = static_cast<const T*>(dh), *from = static_cast<const T*>(gate_up);
    auto* to = static_cast<T*>(dgate_up);
    gate == Gate::silu ? run(GatedBackward<Silu, T, n()>{gradient, from, to, rows.M, rows.D, stride})
                       : run(GatedBackward<Gelu, T, n()>{gradient, from, to, rows.M, rows.D, stride});
  });
}

// x, y: M x D; y may be x.
template <class Run>
void gelu_forward(const Run& run, const Rows& rows, const void* x, void* y) {
  with_vectors(rows.dtype, {x, y}, {rows.D}, [&](auto type, auto n) {
    using T = decltype(type);
    run(GeluForward<T, n()>{static_cast<const T*>(x), static_cast<T*>(y), rows.M, rows.D});
  });
}

// dy, x: M x D. Rows of dx begin `stride` elements apart. It may be dy or x itself.
template <class Run>
void gelu_backward(const Run& run, const Rows& rows, const void* dy, const void* x, void* dx, std::int64_t stride) {
  with_vectors(rows.dtype, {dy, x, dx}, {rows.D, stride}, [&](auto type, auto n) {
    using T = decltype(type);
    run(GeluBackward<T, n()>{static_cast<const T*>(dy), static_cast<const T*>(x), static_cast<T*>(dx), rows.M, rows.D,
                             stride});
  });
}

// x, y: B T x I, contiguous, may be the same.
template <class Run>
void dropout(const Run& run, const DropoutRows& rows, const DropoutDraw& draw, const void* x, void* y) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    run(Dropout<T>{rows, draw, static_cast<const T*>(x), static_cast<T*>(y)});
  });
}

}  // namespace troika::cuda::dispatch
