// Kernels of RMSNorm. Forward: a block per row. Backward: a block per share of the rows, which leaves
// their part of the weights' gradients as a row of partial sums. What the template arguments mean: row_columns.h.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/norm_rows.h"
#include "cuda/number.h"
#include "cuda/row_columns.h"
#include "cuda/row_sums_kernels.h"

namespace troika::cuda {

template <class T, int n, int threads_of_block, int columns>
struct RmsNormForward {
  static constexpr int threads = threads_of_block;
  struct Shared {
    float room[threads / warp];
  };

  NormedRows<T, n> input;
  const T* w;   // D
  float added;  // to w
  T* y;         // M x D
  float* rstd;  // M or null
  std::int64_t M, D;
  float eps;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::int64_t row = block.index() * D;
    KeptRow<T, n, columns> kept;
    float squares = 0;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      const Pack<T, n> x = kept.keep(c, input.read(row + i));
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) squares += x[j] * x[j];
    });
    squares = of_block<threads>(block, squares, Add(), shared.room);
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(D) + eps);
    if (rstd != nullptr && block.thread() == 0) rstd[block.index()] = scale;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      const Pack<T, n> x = kept.again(c, input.normed() + row + i), weight = loaded<n>(w + i);
      Pack<T, n> out;
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) out.set(j, x[j] * scale * (weight[j] + added));
      store<n>(y + row + i, out);
    });
  }
};

template <class T, int n, int threads_of_block, int columns>
struct RmsNormBackward {
  static constexpr int threads = threads_of_block;
  struct Shared {
    float room[2][threads / warp];  // of rows by turns
  };

  const T* dy;        // M x D
  const T* x;         // M x D
  const T* w;         // D
  float added;        // to w
  const float* rstd;  // M
  const T* plus;      // M x D or null
  T* dx;              // M x D
  float* partial_dw;  // shares x D
  std::int64_t M, D, shares;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return shares; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const RowShare rows(M, shares, block.index());
    float* const partial = partial_dw + block.index() * D;
    KeptRow<T, n, columns> weights;
    ColumnSums<n, columns> dw;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      weights.keep(c, loaded<n>(w + i));
      dw.clear(c, partial + i);
    });
    using Row = GradientRow<T, n, threads, columns>;
    const GradientSource<T> from{dy, x, plus, rstd};
    Row kept, ahead;
    if (Row::loads_ahead && rows.begin < rows.end) kept.load(block.thread(), D, rows.begin, from);
    for (std::int64_t m = rows.begin; m < rows.end; ++m) {
      if (!Row::loads_ahead) kept.load(block.thread(), D, m, from);
      const std::int64_t row = m * D;
      const float scale = kept.rstd;
      float along = 0;
      each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
        const Pack<T, n> dy_c = kept.dy.again(c, dy + row + i), x_c = kept.x.again(c, x + row + i);
        const Pack<T, n> weight = weights.again(c, w + i);
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) {
          const float normed = x_c[j] * scale;
          along += dy_c[j] * (weight[j] + added) * normed;
          dw.add(c, partial + i, j, dy_c[j] * normed);
        }
      });
      if (Row::loads_ahead && m + 1 < rows.end) ahead.load(block.thread(), D, m + 1, from);
      along = of_block<threads>(block, along, Add(), shared.room[m % 2]) / static_cast<float>(D);
      each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
        const Pack<T, n> dy_c = kept.dy.again(c, dy + row + i), x_c = kept.x.again(c, x + row + i);
        const Pack<T, n> weight = weights.again(c, w + i);
        float gradient[n];
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) gradient[j] = (dy_c[j] * (weight[j] + added) - x_c[j] * scale * along) * scale;
        kept.add_plus(c, plus, row + i, gradient);
        store(dx + row + i, gradient);
      });
      if (Row::loads_ahead) kept = ahead;
    }
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) { dw.write(c, partial + i); });
  }
};

}  // namespace troika::cuda
