#include "cpu/rope.h"

#include <algorithm>
#include <cmath>

#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rope.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/float_row-inl.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE void prefetch_head(const Heads& x, std::int64_t first, std::int64_t H) {
  prefetch<PrefetchTo::read>(x.data, first, H, x.dtype);
}
HWY_INLINE void prefetch_head(const MutableHeads& y, std::int64_t first, std::int64_t H) {
  prefetch<PrefetchTo::write>(y.data, first, H, y.dtype);
}

// The heads of the row that is `rows_ahead` behind `row`.
template <class Op, class... Views>
HWY_INLINE void prefetch_ahead(const Op& op, std::int64_t row, std::int64_t end, const Views&... views) {
  if (row + rows_ahead >= end) return;
  const std::int64_t b = (row + rows_ahead) / op.T, t = (row + rows_ahead) % op.T;
  for (std::int64_t head = 0; head < op.n; ++head) (prefetch_head(views, views.first(b, t, head), op.H), ...);
}

// Rows [begin, end) of the B x T rows of heads. A head's halves are two rows, a and b, turned together.
void rope_rows(const Rope& op, std::int64_t begin, std::int64_t end, float direction, const Heads& x,
               const MutableHeads& y) {
  const std::int64_t I = op.H / 2, width = padded_width(I);
  FloatRow xa_row(I, x.dtype), xb_row(I, x.dtype), cos_row(I, Dtype::fp32), sin_row(I, Dtype::fp32), ya_row(I, y.dtype),
      yb_row(I, y.dtype);
  for (std::int64_t row = begin; row < end; ++row) {
    prefetch_ahead(op, row, end, x, y);
    const std::int64_t b = row / op.T, t = row % op.T;
    const std::int64_t angles = op.rows.at(row, t) * I;
    const float *cos = cos_row.read(op.rows.cos, angles), *sin = sin_row.read(op.rows.sin, angles);
    for (std::int64_t head = 0; head < op.n; ++head) {
      const float *xa = xa_row.read(x.data, x.first(b, t, head)), *xb = xb_row.read(x.data, x.first(b, t, head) + I);
      float *ya = ya_row.write(y.data, y.first(b, t, head)), *yb = yb_row.write(y.data, y.first(b, t, head) + I);
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 xaj = load16(xa + j), xbj = load16(xb + j);
        const F16 cosj = load16(cos + j), sinj = load16(sin + j) * set16(direction);
        store16(neg_mul_add(xbj, sinj, xaj * cosj), ya + j);
        store16(mul_add(xaj, sinj, xbj * cosj), yb + j);
      }
      ya_row.write_back(y.data, y.first(b, t, head));
      yb_row.write_back(y.data, y.first(b, t, head) + I);
    }
  }
}

// Rows [begin, end) of the B x T rows of heads. A head's halves are two rows, a and b, rotated together.
void qk_norm_rope_forward_rows(const QkNormRope& op, std::int64_t begin, std::int64_t end, double eps, const Heads& x,
                               const MutableHeads& y, float* rstd_BTn) {
  const std::int64_t I = op.H / 2, width = padded_width(I);
  FloatRow xa_row(I, x.dtype), xb_row(I, x.dtype), cos_row(I, Dtype::fp32), sin_row(I, Dtype::fp32), ya_row(I, y.dtype),
      yb_row(I, y.dtype);
  GainRow wa_row(I, x.dtype), wb_row(I, x.dtype);
  const float *wa = wa_row.read(op.w, 0, op.added), *wb = wb_row.read(op.w, I, op.added);
  for (std::int64_t row = begin; row < end; ++row) {
    prefetch_ahead(op, row, end, x, y);
    const std::int64_t b = row / op.T, t = row % op.T;
    const std::int64_t angles = op.rows.at(row, t) * I;
    const float *cos = cos_row.read(op.rows.cos, angles), *sin = sin_row.read(op.rows.sin, angles);
    for (std::int64_t head = 0; head < op.n; ++head) {
      const float *xa = xa_row.read(x.data, x.first(b, t, head)), *xb = xb_row.read(x.data, x.first(b, t, head) + I);
      float *ya = ya_row.write(y.data, y.first(b, t, head)), *yb = yb_row.write(y.data, y.first(b, t, head) + I);
      F16 squares_a = set16(0), squares_b = set16(0);
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 xaj = load16(xa + j), xbj = load16(xb + j);
        squares_a = mul_add(xaj, xaj, squares_a);
        squares_b = mul_add(xbj, xbj, squares_b);
      }
      const double squares = sum(squares_a + squares_b);
      const float rstd = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(op.H) + eps));
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 na = load16(xa + j) * set16(rstd) * load16(wa + j),
                  nb = load16(xb + j) * set16(rstd) * load16(wb + j);
        store16(neg_mul_add(nb, load16(sin + j), na * load16(cos + j)), ya + j);
        store16(mul_add(na, load16(sin + j), nb * load16(cos + j)), yb + j);
      }
      ya_row.write_back(y.data, y.first(b, t, head));
      yb_row.write_back(y.data, y.first(b, t, head) + I);
      if (rstd_BTn != nullptr) rstd_BTn[row * op.n + head] = rstd;
    }
  }
}

void qk_norm_rope_backward_rows(const QkNormRope& op, std::int64_t begin, std::int64_t end, const Heads& dy,
                                const Heads& x, const float* rstd_BTn, const MutableHeads& dx, float* dwa, float* dwb) {
  const std::int64_t I = op.H / 2, width = padded_width(I);
  FloatRow dya_row(I, dy.dtype), dyb_row(I, dy.dtype), xa_row(I, x.dtype), xb_row(I, x.dtype), cos_row(I, Dtype::fp32),
      sin_row(I, Dtype::fp32), dxa_row(I, dx.dtype), dxb_row(I, dx.dtype);
  GainRow wa_row(I, x.dtype), wb_row(I, x.dtype);
  const float *wa = wa_row.read(op.w, 0, op.added), *wb = wb_row.read(op.w, I, op.added);
  for (std::int64_t row = begin; row < end; ++row) {
    prefetch_ahead(op, row, end, dy, x, dx);
    const std::int64_t b = row / op.T, t = row % op.T;
    const std::int64_t angles = op.rows.at(row, t) * I;
    const float *cos = cos_row.read(op.rows.cos, angles), *sin = sin_row.read(op.rows.sin, angles);
    for (std::int64_t head = 0; head < op.n; ++head) {
      const float *dya = dya_row.read(dy.data, dy.first(b, t, head)),
                  *dyb = dyb_row.read(dy.data, dy.first(b, t, head) + I);
      const float *xa = xa_row.read(x.data, x.first(b, t, head)), *xb = xb_row.read(x.data, x.first(b, t, head) + I);
      float *dxa = dxa_row.write(dx.data, dx.first(b, t, head)),
            *dxb = dxb_row.write(dx.data, dx.first(b, t, head) + I);
      const float rstd = rstd_BTn[row * op.n + head];
      F16 along_a = set16(0), along_b = set16(0);
      // Rotated back, the gradient waits in dx for the mean.
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 dyaj = load16(dya + j), dybj = load16(dyb + j), cosj = load16(cos + j), sinj = load16(sin + j);
        const F16 dna = mul_add(dybj, sinj, dyaj * cosj), dnb = neg_mul_add(dyaj, sinj, dybj * cosj);
        const F16 xhat_a = load16(xa + j) * set16(rstd), xhat_b = load16(xb + j) * set16(rstd);
        store16(mul_add(dna, xhat_a, load16(dwa + j)), dwa + j);
        store16(mul_add(dnb, xhat_b, load16(dwb + j)), dwb + j);
        const F16 dxhat_a = dna * load16(wa + j), dxhat_b = dnb * load16(wb + j);
        along_a = mul_add(dxhat_a, xhat_a, along_a);
        along_b = mul_add(dxhat_b, xhat_b, along_b);
        store16(dxhat_a, dxa + j);
        store16(dxhat_b, dxb + j);
      }
      const F16 mean = set16(static_cast<float>(sum(along_a + along_b) / static_cast<double>(op.H)));
      for (std::int64_t j = 0; j < width; j += 16) {
        const F16 xhat_a = load16(xa + j) * set16(rstd), xhat_b = load16(xb + j) * set16(rstd);
        store16(neg_mul_add(xhat_a, mean, load16(dxa + j)) * set16(rstd), dxa + j);
        store16(neg_mul_add(xhat_b, mean, load16(dxb + j)) * set16(rstd), dxb + j);
      }
      dxa_row.write_back(dx.data, dx.first(b, t, head));
      dxb_row.write_back(dx.data, dx.first(b, t, head) + I);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(rope_rows);
HWY_EXPORT(qk_norm_rope_forward_rows);
HWY_EXPORT(qk_norm_rope_backward_rows);

void rope(const Rope& op, Turn turn, const Heads& x, const MutableHeads& y) {
  const float direction = turn == Turn::forward ? 1.0f : -1.0f;
  parallel_pieces(op.B * op.T, rows_per_block(op.n * op.H), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(rope_rows)(op, begin, end, direction, x, y);
  });
}

void qk_norm_rope_forward(const QkNormRope& op, double eps, const Heads& x, const MutableHeads& y, float* rstd) {
  parallel_pieces(op.B * op.T, rows_per_block(op.n * op.H), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(qk_norm_rope_forward_rows)(op, begin, end, eps, x, y, rstd);
  });
}

void qk_norm_rope_backward(const QkNormRope& op, const Heads& dy, const Heads& x, const float* rstd,
                           const MutableHeads& dx, float* dw) {
  const std::int64_t I = op.H / 2, width = padded_width(I);
  const auto sums = sum_over_rows(op.B * op.T, rows_per_block(op.n * op.H), 2 * width,
                                  [&](std::int64_t begin, std::int64_t end, float* partial) {
                                    HWY_DYNAMIC_DISPATCH(qk_norm_rope_backward_rows)
                                    (op, begin, end, dy, x, rstd, dx, partial, partial + width);
                                  });
  std::copy_n(sums.begin(), I, dw);
  std::copy_n(sums.begin() + width, I, dw + I);
}

}  // namespace troika::cpu
#endif
