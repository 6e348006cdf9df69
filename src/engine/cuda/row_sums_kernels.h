// Sums over rows without atomics: blocks that share the rows leave partial sums, which are added in the blocks' order.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// The first and the end of those of M rows that share `index` of `shares` has.
struct RowShare {
  TROIKA_HOST_DEVICE RowShare(std::int64_t M, std::int64_t shares, std::int64_t index)
      : begin(M * index / shares), end(M * (index + 1) / shares) {}
  std::int64_t begin, end;
};

// sums[d] = the sum of partial[:, d]: eight warps take every eighth row in order, then theirs are added in order.
struct SumRows {
  static constexpr int threads = 256;
  struct Shared {
    float of_warps[threads / warp][warp];
  };

  const float* partial;  // rows x D
  float* sums;           // D
  std::int64_t rows, D;

  TROIKA_HOST_DEVICE std::int64_t blocks() const { return blocks_for(D, warp); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int lane = block.thread() % warp, which = block.thread() / warp;
    const std::int64_t d = block.index() * warp + lane;
    float sum = 0;
    if (d < D) {
      for (std::int64_t row = which; row < rows; row += threads / warp) sum += partial[row * D + d];
    }
    shared.of_warps[which][lane] = sum;
    block.barrier();
    if (which > 0 || d >= D) return;
    for (int i = 1; i < threads / warp; ++i) sum += shared.of_warps[i][lane];
    sums[d] = sum;
  }
};

// partial[share] = the sum of the share's rows of x. A block has one share and 32 * n columns; its warps take the
// share's rows by turns.
template <class T, int n>
struct SumRowsOfShares {
  static constexpr int threads = 256, columns = warp * n;
  struct Shared {
    float of_warps[threads / warp][columns];
  };

  const T* x;      // M x D
  float* partial;  // shares x D
  std::int64_t M, D, shares;

  TROIKA_HOST_DEVICE std::int64_t tiles() const { return blocks_for(D, columns); }
  TROIKA_HOST_DEVICE std::int64_t blocks() const { return shares * tiles(); }

  template <class Block>
  TROIKA_DEVICE void operator()(const Block& block, Shared& shared) const {
    const int lane = block.thread() % warp, which = block.thread() / warp;
    const std::int64_t share = block.index() / tiles(), first = block.index() % tiles() * columns;
    const RowShare rows(M, shares, share);
    float sums[n] = {};
    const std::int64_t d = first + lane * n;
    if (d < D) {
      for (std::int64_t row = rows.begin + which; row < rows.end; row += threads / warp) {
        const Pack<T, n> at = loaded<n>(x + row * D + d);
        TROIKA_UNROLL
        for (int j = 0; j < n; ++j) sums[j] += at[j];
      }
    }
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) shared.of_warps[which][lane * n + j] = sums[j];
    block.barrier();
    const int column = block.thread();
    if (column >= columns || first + column >= D) return;
    float sum = 0;
    for (int i = 0; i < threads / warp; ++i) sum += shared.of_warps[i][column];
    partial[share * D + first + column] = sum;
  }
};

}  // namespace troika::cuda
