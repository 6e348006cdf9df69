// The kernels that run for rope.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"
#include "cuda/dispatch.h"
#include "cuda/rope.h"
#include "cuda/rope_kernels.h"

namespace troika::cuda::dispatch {

template <class T, class Element>
HeadPointer<T> head_pointer(const HeadView<Element>& view) {
  return {static_cast<T*>(view.data), view.batch_stride, view.row_stride, view.head_stride};
}

inline void check_heads(std::int64_t count, std::int64_t H) {
  if (count > std::numeric_limits<std::int32_t>::max())
    throw base::BugError("rope of " + std::to_string(count) + " heads at once: at most 2147483647");
  if (H % 2 != 0) throw base::BugError("rope of heads of odd width " + std::to_string(H));
}

// Blocks that share the heads of a backward: four for each multiprocessor of an H100 or H200, and at least 32 heads in
// each.
inline std::int64_t head_shares(const QkNormRope& op) {
  return std::min<std::int64_t>(528, (op.B * op.T * op.n + 31) / 32);
}
// Elements of fp32 that a backward needs as memory until its work is done.
inline std::int64_t qk_norm_rope_backward_floats(const QkNormRope& op) { return head_shares(op) * op.H; }

// y is x turned by the angle of its position, or back by it: back is forward's gradient. y may be x itself, else they
// must not overlap.
template <class Run>
void rope(const Run& run, const Rope& op, Turn turn, const Heads& x, const MutableHeads& y) {
  check_heads(op.B * op.T * op.n, op.H);
  with_number(op.dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>({x.data, y.data, op.rows.cos, op.rows.sin},
                  {op.H / 2, x.batch_stride, x.row_stride, x.head_stride, y.batch_stride, y.row_stride, y.head_stride},
                  [&](auto n) {
                    run(RopeKernel<T, n()>{head_pointer<const T>(x), head_pointer<T>(y), op.rows, op.B, op.T, op.n,
                                           op.H / 2, turn == Turn::forward ? 1.0f : -1.0f});
                  });
  });
}

// body(n, lanes, columns).
template <class T, class Body>
void with_lanes(const QkNormRope& op, std::initializer_list<const void*> pointers,
                std::initializer_list<std::int64_t> strides, const Body& body) {
  check_heads(op.B * op.T * op.n, op.H);
  if (op.H > most_normed_head_width)
    throw base::BugError("norms of heads of width " + std::to_string(op.H) + ": at most 512");
  const std::int64_t I = op.H / 2;
  constexpr int n = static_cast<int>(16 / sizeof(T));
  const bool fit =
      vectors_fit(n, pointers, strides) && I % n == 0 && vectors_fit(n, {op.w, op.rows.cos, op.rows.sin}, {});
  if (!fit) return body(Width<1>(), Width<32>(), Width<8>());
  if (I <= 8 * n) return body(Width<n>(), Width<8>(), Width<1>());
  if (I <= 16 * n) return body(Width<n>(), Width<16>(), Width<1>());
  body(Width<n>(), Width<32>(), Width<256 / (32 * n)>());
}

// rstd: B x T x n, may be null. y must not overlap x, unless it is x itself.
template <class Run>
void qk_norm_rope_forward(const Run& run, const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y,
                          float* rstd) {
  with_number(op.dtype, [&](auto type) {
    using T = decltype(type);
    with_lanes<T>(op, {x.data, y.data},
                  {x.batch_stride, x.row_stride, x.head_stride, y.batch_stride, y.row_stride, y.head_stride},
                  [&](auto n, auto lanes, auto columns) {
                    run(QkNormRopeForward<T, n(), lanes(), columns()>{head_pointer<const T>(x), head_pointer<T>(y),
                                                                      static_cast<const T*>(op.w), op.added, op.rows, rstd, op.B,
                                                                      op.T, op.n, op.H / 2, static_cast<float>(eps)});
                  });
  });
}

// dx must not overlap x, and may be dy itself. Writes dw, H.
template <class Run>
void qk_norm_rope_backward(const Run& run, const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw, float* workspace) {
  const std::int64_t shares = head_shares(op);
  with_number(op.dtype, [&](auto type) {
    using T = decltype(type);
    with_lanes<T>(op, {dy.data, x.data, dx.data},
                  {dy.batch_stride, dy.row_stride, dy.head_stride, x.batch_stride, x.row_stride, x.head_stride,
                   dx.batch_stride, dx.row_stride, dx.head_stride},
                  [&](auto n, auto lanes, auto columns) {
                    run(QkNormRopeBackward<T, n(), lanes(), columns()>{
                        head_pointer<const T>(dy), head_pointer<const T>(x), head_pointer<T>(dx),
                        static_cast<const T*>(op.w), op.added, op.rows, rstd, workspace, op.B, op.T, op.n, op.H / 2, shares});
                  });
  });
  run(SumRows{workspace, dw, shares, op.H});
}

}  // namespace troika::cuda::dispatch
