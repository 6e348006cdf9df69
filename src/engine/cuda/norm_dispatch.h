// The kernels that run for norms (kernels/rows.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/dispatch.h"
#include "cuda/layer_norm_kernels.h"
#include "cuda/norm_rows.h"
#include "cuda/rms_norm_kernels.h"

namespace troika::cuda::dispatch {

// Blocks for each of the 132 multiprocessors of an H100 or H200: four of short rows, two of long ones, which have more
// threads. The partial sums are a small part of what the rows of a microbatch are.
inline std::int64_t row_shares(const Rows& rows) {
  return std::min<std::int64_t>(rows.M, rows.D > 2048 ? 264 : 528);
}

// body(n, threads, columns): rows of D go into the registers of a block where they are not too long.
template <class T, class Body>
void with_columns(std::initializer_list<const void*> pointers, std::int64_t D, const Body& body) {
  with_width<T>(pointers, {D}, [&](auto n) {
    if constexpr (n() > 1) {
      const std::int64_t packs = D / n();
      if (packs <= 128) return body(n, Width<128>(), Width<1>());
      if (packs <= 256) return body(n, Width<256>(), Width<1>());
      if (packs <= 512) return body(n, Width<512>(), Width<1>());
      if (packs <= 1024) return body(n, Width<512>(), Width<2>());
    }
    body(n, Width<256>(), Width<0>());
  });
}

template <class T, int n>
NormedRows<T, n> normed_rows(const NormInput& input) {
  return {static_cast<const T*>(input.x), static_cast<const T*>(input.delta), static_cast<T*>(input.sum)};
}

// y: M x D, no other array of the call; rstd: M, may be null.
template <class Run>
void rms_norm_forward(const Run& run, const Rows& rows, const NormInput& input, const Gains& gains, double eps, void* y,
                      float* rstd) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_columns<T>({input.x, input.delta, input.sum, gains.w, y}, rows.D, [&](auto n, auto threads, auto columns) {
      run(RmsNormForward<T, n(), threads(), columns()>{normed_rows<T, n()>(input), static_cast<const T*>(gains.w), gains.added,
                                                       static_cast<T*>(y), rstd, rows.M, rows.D,
                                                       static_cast<float>(eps)});
    });
  });
}

// dx (M x D) = gradient + plus (M x D, may be null); it may be dy or plus. x: what was normed. Writes dw, D.
template <class Run>
void rms_norm_backward(const Run& run, const Rows& rows, const void* dy, const void* x, const Gains& gains,
                       const float* rstd, const void* plus, void* dx, float* dw, float* workspace) {
  const std::int64_t shares = row_shares(rows);
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_columns<T>({dy, x, gains.w, plus, dx, workspace}, rows.D, [&](auto n, auto threads, auto columns) {
      run(RmsNormBackward<T, n(), threads(), columns()>{static_cast<const T*>(dy), static_cast<const T*>(x),
                                                        static_cast<const T*>(gains.w), gains.added, rstd, static_cast<const T*>(plus),
                                                        static_cast<T*>(dx), workspace, rows.M, rows.D, shares});
    });
  });
  run(SumRows{workspace, dw, shares, rows.D});
}

// w, bias: D; mean, rstd: M each, may both be null.
template <class Run>
void layer_norm_forward(const Run& run, const Rows& rows, const NormInput& input, const void* w, const void* bias,
                        double eps, void* y, float* mean, float* rstd) {
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_columns<T>({input.x, input.delta, input.sum, w, bias, y}, rows.D, [&](auto n, auto threads, auto columns) {
      run(LayerNormForward<T, n(), threads(), columns()>{normed_rows<T, n()>(input), static_cast<const T*>(w),
                                                         static_cast<const T*>(bias), static_cast<T*>(y), mean, rstd,
                                                         rows.M, rows.D, static_cast<float>(eps)});
    });
  });
}

// As rms_norm_backward; writes dw and dbias, D each.
template <class Run>
void layer_norm_backward(const Run& run, const Rows& rows, const void* dy, const void* x, const void* w,
                         const float* mean, const float* rstd, const void* plus, void* dx, float* dw, float* dbias,
                         float* workspace) {
  const std::int64_t shares = row_shares(rows);
  float* const partial_dbias = workspace + shares * rows.D;
  with_number(rows.dtype, [&](auto type) {
    using T = decltype(type);
    with_columns<T>({dy, x, w, plus, dx, workspace}, rows.D, [&](auto n, auto threads, auto columns) {
      run(LayerNormBackward<T, n(), threads(), columns()>{
          static_cast<const T*>(dy), static_cast<const T*>(x), static_cast<const T*>(w), mean, rstd,
          static_cast<const T*>(plus), static_cast<T*>(dx), workspace, partial_dbias, rows.M, rows.D, shares});
    });
  });
  run(SumRows{workspace, dw, shares, rows.D});
  run(SumRows{partial_dbias, dbias, shares, rows.D});
}

// Elements of fp32 that a backward needs as memory until its work is done.
inline std::int64_t rms_norm_backward_floats(const Rows& rows) { return row_shares(rows) * rows.D; }
inline std::int64_t layer_norm_backward_floats(const Rows& rows) { return 2 * row_shares(rows) * rows.D; }

}  // namespace troika::cuda::dispatch
