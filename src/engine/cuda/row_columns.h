// How the threads of a block share a row of D elements: a thread has packs of n neighbouring elements, its columns,
// n * threads elements apart. With `columns` > 0 there are at most so many, and what belongs to them stays
// in registers; with 0 any number, and it stays in memory.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// visit(c, i) for every column of the thread: its number (0 with columns == 0) and its first element's.
template <int n, int threads, int columns, class Visit>
TROIKA_DEVICE void each_column(int thread, std::int64_t D, const Visit& visit) {
  if constexpr (columns > 0) {
    TROIKA_UNROLL
    for (int c = 0; c < columns; ++c) {
      const std::int64_t i = static_cast<std::int64_t>(c * threads + thread) * n;
      if (i < D) visit(c, i);
    }
  } else {
    for (std::int64_t i = static_cast<std::int64_t>(thread) * n; i < D; i += threads * n) visit(0, i);
  }
}

// The elements of a row that a thread has read.
template <class T, int n, int columns>
class KeptRow {
 public:
  TROIKA_DEVICE const Pack<T, n>& keep(int c, const Pack<T, n>& pack) { return packs_[c] = pack; }
  // `at`: where the pack is in memory.
  TROIKA_DEVICE Pack<T, n> again(int c, const T* at) const {
    if constexpr (columns > 0) {
      return packs_[c];
    } else {
      return loaded<n>(at);
    }
  }

 private:
  Pack<T, n> packs_[columns > 0 ? columns : 1];
};

// Sums over the rows that a block has. `at`: where the sums of the column will be, memory of this block alone.
template <int n, int columns>
class ColumnSums {
 public:
  TROIKA_DEVICE void clear(int c, float* at) {
    if constexpr (columns > 0) {
      TROIKA_UNROLL
      for (int j = 0; j < n; ++j) sums_[c][j] = 0;
    } else {
      for (int j = 0; j < n; ++j) at[j] = 0;
    }
  }
  TROIKA_DEVICE void add(int c, float* at, int j, float x) {
    if constexpr (columns > 0) {
      sums_[c][j] += x;
    } else {
      at[j] += x;
    }
  }
  TROIKA_DEVICE void write(int c, float* at) const {
    if constexpr (columns > 0) store(at, sums_[c]);
  }

 private:
  float sums_[columns > 0 ? columns : 1][n];
};

}  // namespace troika::cuda
