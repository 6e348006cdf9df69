// RMSNorm and LayerNorm over rows of width D; formulas and their sources in kernels/rows.h. Arrays are contiguous and
// on the device; activations and weights have the dtype of the call, statistics and weight gradients are fp32. Results do not
// depend on the device: rows are cut by shape, and sums have one order.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"
#include "cuda/row_columns.h"

namespace troika::cuda {

// The norm of x, or of sum = x + delta, rounded to the dtype, which is written too.
struct NormInput {
  const void* x = nullptr;      // M x D
  const void* delta = nullptr;  // M x D, may be null
  void* sum = nullptr;          // M x D, null without delta; may be x or delta
};

// The gains of an RMSNorm, w + added: D.
struct Gains {
  const void* w = nullptr;
  float added = 0;
};

// A pack of what is normed. `at`: of the element in its matrix.
template <class T, int n>
struct NormedRows {
  const T* x;      // M x D
  const T* delta;  // M x D or null: added to x first
  T* sum;          // M x D: x + delta, rounded; null without delta

  TROIKA_DEVICE Pack<T, n> read(std::int64_t at) const {
    Pack<T, n> pack = loaded<n>(x + at);
    if (delta == nullptr) return pack;
    const Pack<T, n> more = loaded<n>(delta + at);
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) pack.set(j, pack[j] + more[j]);
    store<n>(sum + at, pack);
    return pack;
  }
  TROIKA_DEVICE const T* normed() const { return delta == nullptr ? x : sum; }
};

// The input of the backward of a norm. Where a thread has one column of a row, the block loads the next row before it waits for
// its threads to add up this one, so memory is never idle; with more columns so much is on its way already that registers count more.
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

  // gradient += the elements of `all` from `offset` on, which were loaded as plus; not where `all` is null.
  TROIKA_DEVICE void add_plus(int c, const T* all, std::int64_t offset, float (&gradient)[n]) const {
    if (all == nullptr) return;
    const Pack<T, n> around = plus.again(c, all + offset);
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) gradient[j] += around[j];
  }
};

}  // namespace troika::cuda
