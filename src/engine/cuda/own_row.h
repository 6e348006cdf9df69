// Converts rows of fp32 to another dtype in place, each into the first part of its own memory.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// A block turns elements [0, v) of `rows` rows at once: of(x, i) changes their values at i, which are rounded to To. A row's
// elements are on n * 4 bytes.
template <class To, int n, int threads, int rows, class Block, class Of>
TROIKA_DEVICE void rewrite_rows(const Block& block, float* const (&row)[rows], std::int64_t v, const Of& of) {
  std::int64_t chunk = 0;
  for (std::int64_t begin = 0; begin < v; begin += threads * n, ++chunk) {
    const std::int64_t first = begin + static_cast<std::int64_t>(block.thread()) * n;
    float values[rows][n];
    TROIKA_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (first + n <= v) {
        const Pack<float, n> pack = loaded<n>(row[r] + first);
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) values[r][j] = pack[j];
      } else {
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) values[r][j] = first + j < v ? row[r][first + j] : 0.0f;
      }
    }
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) {
      float at[rows];
      TROIKA_UNROLL
      for (int r = 0; r < rows; ++r) at[r] = values[r][j];
      of(at, first + j);
      TROIKA_UNROLL
      for (int r = 0; r < rows; ++r) values[r][j] = at[r];
    }
    // Chunk c of halves lies in chunk c / 2 of what is read: waiting in chunks 0, 2, 6, 14, ... is enough.
    if (sizeof(To) < sizeof(float) && ((chunk + 2) & (chunk + 1)) == 0) block.barrier();
    TROIKA_UNROLL
    for (int r = 0; r < rows; ++r) {
      To* const to = reinterpret_cast<To*>(row[r]);
      if (first + n <= v) {
        store(to + first, values[r]);
      } else {
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) {
          if (first + j < v) to[first + j] = rounded<To>(values[r][j]);
        }
      }
    }
  }
}

}  // namespace troika::cuda
