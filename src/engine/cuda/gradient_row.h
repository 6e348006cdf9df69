// What the backward of a norm reads of a row. Where a thread has one column of it, the block loads the next row before it waits for
// its threads to add up this one, so memory is never idle; with more columns so much is on its way already that registers count more.
#pragma once

#include <cstdint>

#include "cuda/number.h"
#include "cuda/row_columns.h"

namespace troika::cuda {

// Pointers to M x D elements, plus may be null, and to M statistics.
template <class T>
struct GradientSource {
  const T *dy, *x, *plus;
  const float* rstd;
};

// `columns`: as in row_columns.h.
template <class T, int n, int threads, int columns>
struct GradientRow {
  static constexpr bool loads_ahead = columns == 1;

  KeptRow<T, n, columns> dy, x, plus;
  float rstd = 0, mean = 0;  // mean: of LayerNorm, which loads it itself

  TROIKA_DEVICE void load(int thread, std::int64_t D, std::int64_t m, const GradientSource<T>& from) {
    rstd = from.rstd[m];
    if constexpr (columns > 0) {
      each_column<n, threads, columns>(thread, D, [&](int c, std::int64_t i) {
        dy.keep(c, loaded<n>(from.dy + m * D + i));
        x.keep(c, loaded<n>(from.x + m * D + i));
        if (from.plus != nullptr) plus.keep(c, loaded<n>(from.plus + m * D + i));
      });
    }
  }
};

}  // namespace troika::cuda
