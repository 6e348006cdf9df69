// Kernels of LayerNorm. Forward: a block per row. Backward: a block per share of the rows, which leaves
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
struct LayerNormForward {
  static constexpr int threads = threads_of_block;
  struct Shared {
    float room[2][threads / warp];
  };

  NormedRows<T, n> input;
  const T* w;     // D
  const T* bias;  // D
  T* y;           // M x D
  float* mean;    // M or null
  float* rstd;    // M or null
  std::int64_t M, D;
  float eps;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return M; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::int64_t row = block.index() * D;
    KeptRow<T, n, columns> kept;
    float total = 0, squares = 0;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      const Pack<T, n> x = kept.keep(c, input.read(row + i));
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) total += x[j];
    });
    const float middle = of_block<threads>(block, total, Add(), shared.room[0]) / static_cast<float>(D);
    const T* const normed = input.normed() + row;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      const Pack<T, n> x = kept.again(c, normed + i);
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) squares += (x[j] - middle) * (x[j] - middle);
    });
    squares = of_block<threads>(block, squares, Add(), shared.room[1]);
    const float scale = 1.0f / sqrtf(squares / static_cast<float>(D) + eps);
    if (block.thread() == 0) {
      if (mean != nullptr) mean[block.index()] = middle;
      if (rstd != nullptr) rstd[block.index()] = scale;
    }
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      const Pack<T, n> x = kept.again(c, normed + i), weight = loaded<n>(w + i), offset = loaded<n>(bias + i);
      Pack<T, n> out;
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) out.set(j, (x[j] - middle) * scale * weight[j] + offset[j]);
      store<n>(y + row + i, out);
    });
  }
};

template <class T, int n, int threads_of_block, int columns>
struct LayerNormBackward {
  static constexpr int threads = threads_of_block;
  struct Shared {
    float total[2][threads / warp], along[2][threads / warp];  // of rows by turns
  };

  const T* dy;           // M x D
  const T* x;            // M x D
  const T* w;            // D
  const float* mean;     // M
  const float* rstd;     // M
  const T* plus;         // M x D or null
  T* dx;                 // M x D
  float* partial_dw;     // shares x D
  float* partial_dbias;  // shares x D
  std::int64_t M, D, shares;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return shares; }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const RowShare rows(M, shares, block.index());
    float* const part_dw = partial_dw + block.index() * D;
    float* const part_dbias = partial_dbias + block.index() * D;
    KeptRow<T, n, columns> weights;
    ColumnSums<n, columns> dw, dbias;
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      weights.keep(c, loaded<n>(w + i));
      dw.clear(c, part_dw + i);
      dbias.clear(c, part_dbias + i);
    });
    using Row = GradientRow<T, n, threads, columns>;
    const GradientSource<T> from{dy, x, plus, rstd};
    const auto load = [&](Row& row, std::int64_t m) {
      row.load(block.thread(), D, m, from);
      row.mean = mean[m];
    };
    Row kept, ahead;
    if (Row::loads_ahead && rows.begin < rows.end) load(kept, rows.begin);
    for (std::int64_t m = rows.begin; m < rows.end; ++m) {
      if (!Row::loads_ahead) load(kept, m);
      const std::int64_t row = m * D;
      const float middle = kept.mean, scale = kept.rstd;
      float total = 0, along = 0;
      each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
        const Pack<T, n> dy_c = kept.dy.again(c, dy + row + i), x_c = kept.x.again(c, x + row + i);
        const Pack<T, n> weight = weights.again(c, w + i);
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) {
          const float normed = (x_c[j] - middle) * scale, weighted = dy_c[j] * weight[j];
          total += weighted;
          along += weighted * normed;
          dw.add(c, part_dw + i, j, dy_c[j] * normed);
          dbias.add(c, part_dbias + i, j, dy_c[j]);
        }
      });
      if (Row::loads_ahead && m + 1 < rows.end) load(ahead, m + 1);
      const SumPair sums = of_block(block, {total, along}, shared, m % 2);
      each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
        const Pack<T, n> dy_c = kept.dy.again(c, dy + row + i), x_c = kept.x.again(c, x + row + i);
        const Pack<T, n> weight = weights.again(c, w + i);
        float gradient[n];
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) {
          const float normed = (x_c[j] - middle) * scale;
          gradient[j] = (dy_c[j] * weight[j] - sums.total - normed * sums.along) * scale;
        }
        kept.add_plus(c, plus, row + i, gradient);
        store(dx + row + i, gradient);
      });
      if (Row::loads_ahead) kept = ahead;
    }
    each_column<n, threads, columns>(block.thread(), D, [&](int c, std::int64_t i) {
      dw.write(c, part_dw + i);
      dbias.write(c, part_dbias + i);
    });
  }

 private:
  struct SumPair {
    float total, along;
  };

  // Both means over the row, with one barrier.
  template <class Block>
  TROIKA_DEVICE SumPair of_block(const Block& block, SumPair sums, Shared& shared, std::int64_t turn) const {
    sums = {of_lanes<warp>(block, sums.total, Add()), of_lanes<warp>(block, sums.along, Add())};
    float *const total = shared.total[turn], *const along = shared.along[turn];
    if (block.thread() % warp == 0) {
      total[block.thread() / warp] = sums.total;
      along[block.thread() / warp] = sums.along;
    }
    block.barrier();
    sums = {total[0], along[0]};
    TROIKA_UNROLL
    for (int i = 1; i < threads / warp; ++i) sums = {sums.total + total[i], sums.along + along[i]};
    return {sums.total / static_cast<float>(D), sums.along / static_cast<float>(D)};
  }
};

}  // namespace troika::cuda
