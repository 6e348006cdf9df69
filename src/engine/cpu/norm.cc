#include "cpu/rows.h"

#include <algorithm>
#include <cmath>

#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/float_row-inl.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

void rms_norm_forward_rows(std::int64_t begin, std::int64_t end, const Rows& rows, const void* x_MD, const Gains& gains,
                           double eps, void* y_MD, float* rstd_M) {
  const std::int64_t D = rows.D, width = padded_width(D);
  FloatRow x_row(D, rows.dtype), y_row(D, rows.dtype);
  GainRow w_row(D, rows.dtype);
  const float* w = w_row.read(gains.w, 0, gains.added);
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = x_row.read(x_MD, i * D);
    float* y = y_row.write(y_MD, i * D);
    F16 squares = set16(0);
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 xj = load16(x + j);
      squares = mul_add(xj, xj, squares);
    }
    const float rstd = static_cast<float>(1.0 / std::sqrt(sum(squares) / static_cast<double>(D) + eps));
    for (std::int64_t j = 0; j < width; j += 16) store16(load16(x + j) * set16(rstd) * load16(w + j), y + j);
    y_row.write_back(y_MD, i * D);
    if (rstd_M != nullptr) rstd_M[i] = rstd;
  }
}

void rms_norm_backward_rows(std::int64_t begin, std::int64_t end, const Rows& rows, const void* dy_MD, const void* x_MD,
                            const Gains& gains, const float* rstd_M, const void* plus_MD, void* dx_MD, float* dw) {
  const std::int64_t D = rows.D, width = padded_width(D);
  FloatRow dy_row(D, rows.dtype), x_row(D, rows.dtype), plus_row(D, rows.dtype), dx_row(D, rows.dtype);
  GainRow w_row(D, rows.dtype);
  const float* w = w_row.read(gains.w, 0, gains.added);
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = dy_row.read(dy_MD, i * D), *x = x_row.read(x_MD, i * D);
    const float* plus = plus_MD == nullptr ? nullptr : plus_row.read(plus_MD, i * D);
    float* dx = dx_row.write(dx_MD, i * D);
    F16 along = set16(0);
    for (std::int64_t j = 0; j < width; j += 16) along = mul_add(load16(dy + j) * load16(w + j), load16(x + j), along);
    const F16 rstd = set16(rstd_M[i]);
    const F16 mean = set16(static_cast<float>(static_cast<double>(sum(along)) * rstd_M[i] / static_cast<double>(D)));
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 dyj = load16(dy + j), xhat = load16(x + j) * rstd;
      store16(mul_add(dyj, xhat, load16(dw + j)), dw + j);
      const F16 across = neg_mul_add(xhat, mean, dyj * load16(w + j));
      store16(plus == nullptr ? across * rstd : mul_add(across, rstd, load16(plus + j)), dx + j);
    }
    dx_row.write_back(dx_MD, i * D);
  }
}

void layer_norm_forward_rows(std::int64_t begin, std::int64_t end, const Rows& rows, const void* x_MD, const void* w_D,
                             const void* bias_D, double eps, void* y_MD, float* mean_M, float* rstd_M) {
  const std::int64_t D = rows.D, width = padded_width(D);
  FloatRow x_row(D, rows.dtype), w_row(D, rows.dtype), bias_row(D, rows.dtype), y_row(D, rows.dtype);
  const float *w = w_row.read(w_D, 0), *bias = bias_row.read(bias_D, 0);
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = x_row.read(x_MD, i * D);
    float* y = y_row.write(y_MD, i * D);
    F16 total = set16(0), squares = set16(0);
    for (std::int64_t j = 0; j < width; j += 16) total = total + load16(x + j);
    const float mean = static_cast<float>(sum(total) / static_cast<double>(D));
    x_row.fill(mean);  // adds nothing to the squares
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 centred = load16(x + j) - set16(mean);
      squares = mul_add(centred, centred, squares);
    }
    const float rstd = static_cast<float>(1.0 / std::sqrt(sum(squares) / static_cast<double>(D) + eps));
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 xhat = (load16(x + j) - set16(mean)) * set16(rstd);
      store16(mul_add(xhat, load16(w + j), load16(bias + j)), y + j);
    }
    y_row.write_back(y_MD, i * D);
    if (mean_M != nullptr) mean_M[i] = mean;
    if (rstd_M != nullptr) rstd_M[i] = rstd;
  }
}

void layer_norm_backward_rows(std::int64_t begin, std::int64_t end, const Rows& rows, const void* dy_MD,
                              const void* x_MD, const void* w_D, const float* mean_M, const float* rstd_M,
                              const void* plus_MD, void* dx_MD, float* dw, float* dbias) {
  const std::int64_t D = rows.D, width = padded_width(D);
  const double one_over_D = 1.0 / static_cast<double>(D);
  FloatRow dy_row(D, rows.dtype), x_row(D, rows.dtype), w_row(D, rows.dtype), plus_row(D, rows.dtype),
      dx_row(D, rows.dtype);
  const float* w = w_row.read(w_D, 0);
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = dy_row.read(dy_MD, i * D), *x = x_row.read(x_MD, i * D);
    const float* plus = plus_MD == nullptr ? nullptr : plus_row.read(plus_MD, i * D);
    float* dx = dx_row.write(dx_MD, i * D);
    const F16 mean = set16(mean_M[i]), rstd = set16(rstd_M[i]);
    F16 total = set16(0), along = set16(0);
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 dxhat = load16(dy + j) * load16(w + j);
      total = total + dxhat;
      along = mul_add(dxhat, (load16(x + j) - mean) * rstd, along);
    }
    const F16 dxhat_mean = set16(static_cast<float>(sum(total) * one_over_D));
    const F16 along_mean = set16(static_cast<float>(sum(along) * one_over_D));
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 dyj = load16(dy + j), xhat = (load16(x + j) - mean) * rstd;
      store16(mul_add(dyj, xhat, load16(dw + j)), dw + j);
      store16(dyj + load16(dbias + j), dbias + j);
      const F16 across = neg_mul_add(xhat, along_mean, dyj * load16(w + j) - dxhat_mean);
      store16(plus == nullptr ? across * rstd : mul_add(across, rstd, load16(plus + j)), dx + j);
    }
    dx_row.write_back(dx_MD, i * D);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(rms_norm_forward_rows);
HWY_EXPORT(rms_norm_backward_rows);
HWY_EXPORT(layer_norm_forward_rows);
HWY_EXPORT(layer_norm_backward_rows);

void rms_norm_forward(const Rows& rows, const void* x, const Gains& gains, double eps, void* y, float* rstd) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(rms_norm_forward_rows)(begin, end, rows, x, gains, eps, y, rstd);
  });
}

void rms_norm_backward(const Rows& rows, const void* dy, const void* x, const Gains& gains, const float* rstd,
                       const void* plus, void* dx, float* dw) {
  const auto sums = sum_over_rows(rows.M, rows_per_block(rows.D), padded_width(rows.D),
                                  [&](std::int64_t begin, std::int64_t end, float* partial) {
                                    HWY_DYNAMIC_DISPATCH(rms_norm_backward_rows)
                                    (begin, end, rows, dy, x, gains, rstd, plus, dx, partial);
                                  });
  std::copy_n(sums.begin(), rows.D, dw);
}

void layer_norm_forward(const Rows& rows, const void* x, const void* w, const void* bias, double eps, void* y,
                        float* mean, float* rstd) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(layer_norm_forward_rows)(begin, end, rows, x, w, bias, eps, y, mean, rstd);
  });
}

void layer_norm_backward(const Rows& rows, const void* dy, const void* x, const void* w, const float* mean,
                         const float* rstd, const void* plus, void* dx, float* dw, float* dbias) {
  const std::int64_t width = padded_width(rows.D);
  const auto sums = sum_over_rows(rows.M, rows_per_block(rows.D), 2 * width,
                                  [&](std::int64_t begin, std::int64_t end, float* partial) {
                                    HWY_DYNAMIC_DISPATCH(layer_norm_backward_rows)
                                    (begin, end, rows, dy, x, w, mean, rstd, plus, dx, partial, partial + width);
                                  });
  std::copy_n(sums.begin(), rows.D, dw);
  std::copy_n(sums.begin() + width, rows.D, dbias);
}

}  // namespace troika::cpu
#endif
