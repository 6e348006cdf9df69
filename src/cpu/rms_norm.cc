#include <algorithm>
#include <cmath>

#include "cpu/norm.h"
#include "cpu/padded_row.h"
#include "cpu/parallel.h"
#include "cpu/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rms_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

void rms_norm_forward_rows(std::int64_t begin, std::int64_t end, std::int64_t D, const float* x_MD, const float* w_D,
                           double eps, float* y_MD, float* rstd_M) {
  const std::int64_t width = padded_width(D);
  PaddedRow x_row(D), w_row(D), y_row(D);
  const float* w = w_row.read(w_D);
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = x_row.read(x_MD + i * D);
    float* y = y_row.write(y_MD + i * D);
    F16 squares = set16(0);
    for (std::int64_t j = 0; j < width; j += 16) {
      const F16 xj = load16(x + j);
      squares = mul_add(xj, xj, squares);
    }
    const float rstd = static_cast<float>(1.0 / std::sqrt(sum(squares) / static_cast<double>(D) + eps));
    for (std::int64_t j = 0; j < width; j += 16) store16(load16(x + j) * set16(rstd) * load16(w + j), y + j);
    y_row.write_back(y_MD + i * D);
    if (rstd_M != nullptr) rstd_M[i] = rstd;
  }
}

void rms_norm_backward_rows(std::int64_t begin, std::int64_t end, std::int64_t D, const float* dy_MD, const float* x_MD,
                            const float* w_D, const float* rstd_M, const float* plus_MD, float* dx_MD, float* dw) {
  const std::int64_t width = padded_width(D);
  PaddedRow dy_row(D), x_row(D), w_row(D), plus_row(D), dx_row(D);
  const float* w = w_row.read(w_D);
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = dy_row.read(dy_MD + i * D), *x = x_row.read(x_MD + i * D);
    const float* plus = plus_MD == nullptr ? nullptr : plus_row.read(plus_MD + i * D);
    float* dx = dx_row.write(dx_MD + i * D);
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
    dx_row.write_back(dx_MD + i * D);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {

HWY_EXPORT(rms_norm_forward_rows);
HWY_EXPORT(rms_norm_backward_rows);

void rms_norm_forward(const Rows& rows, const float* x, const float* w, double eps, float* y, float* rstd) {
  parallel_pieces(rows.M, rows_per_block(rows.D), [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(rms_norm_forward_rows)(begin, end, rows.D, x, w, eps, y, rstd);
  });
}

void rms_norm_backward(const Rows& rows, const float* dy, const float* x, const float* w, const float* rstd,
                       const float* plus, float* dx, float* dw) {
  const auto sums = sum_over_rows(rows.M, rows_per_block(rows.D), padded_width(rows.D),
                                  [&](std::int64_t begin, std::int64_t end, float* partial) {
                                    HWY_DYNAMIC_DISPATCH(rms_norm_backward_rows)
                                    (begin, end, rows.D, dy, x, w, rstd, plus, dx, partial);
                                  });
  std::copy_n(sums.begin(), rows.D, dw);
}

}  // namespace troika::cpu
#endif
